"""Years and parts of years in Chinese and English."""

from __future__ import annotations

import pytest

from graphkb.text.periods import agreement, periods


@pytest.mark.parametrize(
    ("text", "years", "parts"),
    [
        ("中国联通 2022 年第一季度报告", {2022}, {"Q1"}),
        ("2022年三季报", {2022}, {"Q3"}),
        ("2022年第一季度和第三季度报告", {2022}, {"Q1", "Q3"}),
        ("二〇二一年年度报告摘要", {2021}, {"Y"}),
        ("二零二四年营业收入", {2024}, set()),
        ("二〇二四年第一季度", {2024}, {"Q1"}),
        ("二○二四 年下半年", {2024}, {"H2"}),
        ("二0二四年与二O二三年", {2023, 2024}, set()),
        ("二零二四全年", {2024}, {"Y"}),
        ("二〇一九至二〇二一年", {2019, 2020, 2021}, set()),
        ("一九九八年三月", {1998}, {"M3"}),
        ("二〇二四室，二十一年，一二〇二四年", set(), set()),
        ("２０２０年上半年", {2020}, {"H1"}),
        ("2020 年半年度報告", {2020}, {"H1"}),
        ("2019年底和2020年底", {2019, 2020}, set()),
        ("2019-2022年", {2019, 2020, 2021, 2022}, set()),
        ("2023年3月运营数据", {2023}, {"M3"}),
        ("十二月的销量", set(), {"M12"}),
        ("Q3 2021 results", {2021}, {"Q3"}),
        ("Annual Report 2022", {2022}, {"Y"}),
        ("the second half of 2019", {2019}, {"H2"}),
        ("minutes of March 2024", {2024}, {"M3"}),
        ("minutes-2024-03", {2024}, {"M3"}),
        ("between March and May 2022", {2022}, {"M3", "M4", "M5"}),
        ("revenue Q1-Q3 2022", {2022}, {"Q1", "Q2", "Q3"}),
        ("2022年1-3月的收入", {2022}, {"M1", "M2", "M3", "Q1"}),
        ("2022年前三季度", {2022}, {"Q1", "Q2", "Q3"}),
        ("2021-22 annual report", {2021, 2022}, {"Y"}),
        ("FY24 budget", {2024}, set()),
        ("1Q23 results", {2023}, {"Q1"}),
        ("Sept 2022 sales", {2022}, {"M9"}),
        ("from 1998 to 2001", {1998, 1999, 2000, 2001}, set()),
        ("Who may march there?", set(), set()),
        ("E2022x, 12022, 2022.5 and 2,022", set(), set()),
        ("谁是三井的董事长", set(), set()),
        ("报告期内公司年报告期末", set(), set()),
    ],
)
def test_periods_are_found(text: str, years: set[int], parts: set[str]) -> None:
    found = periods(text)
    assert (found.years, found.parts) == (years, parts)


@pytest.mark.parametrize(
    ("question", "title", "expected"),
    [
        ("2022年第一季度的存货", "2022 年第一季度报告", 1.0),
        ("2022年第一季度的存货", "2023 年第一季度报告", -1.0),
        ("2022年第一季度的存货", "2022 年第三季度报告", -1.0),
        ("2022年第一季度的存货", "2022 年半年度报告", 0.5),
        ("2022年的存货", "2022 年半年度报告", 0.5),
        ("根据年度报告，2022年的存货", "2022 年半年度报告", 0.5),
        ("根据年度报告，2022年的存货", "2022 年年度报告", 1.0),
        ("2022年3月的存货", "2022 年第一季度报告", 0.5),
        ("2022年7月的存货", "2022 年第一季度报告", -1.0),
        ("第一季度的存货", "2022 年第三季度报告", -1.0),
        ("2022年1-3月的收入", "2022年1月报告", 1.0),
        ("2022年1-3月的收入", "2022年第一季度报告", 1.0),
        ("2022年前三季度的收入", "2022年半年度报告", 0.5),
        ("sales between March and May 2022", "March 2022 report", 1.0),
        ("存货", "2022 年第三季度报告", 0.0),
        ("2022年的存货", "存货管理办法", 0.0),
        ("What was revenue in Q2 2022?", "Q2 2022 report", 1.0),
        ("What was revenue in 2021?", "Annual report 2022", -1.0),
        ("Who commands 2021 men?", "Annual report 2022", 0.0),
    ],
)
def test_titles_are_compared_with_questions(question: str, title: str, expected: float) -> None:
    assert agreement(periods(question), periods(title)) == expected
