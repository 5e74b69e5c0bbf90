"""Years and parts of years in Chinese and English."""

from __future__ import annotations

import pytest

from graphkb.text.periods import agreement, periods, spelled_month


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
        ("明川电气2024Q1", {2024}, {"Q1"}),
        ("明川电气Q3业绩", set(), {"Q3"}),
        ("2023H1 report", {2023}, {"H1"}),
        ("report_2024q3", {2024}, {"Q3"}),
        ("Q3_2024", {2024}, {"Q3"}),
        ("Q1-FY2024", {2024}, {"Q1"}),
        ("minutes_march_2024", {2024}, {"M3"}),
        ("2024年Q1", {2024}, {"Q1"}),
        ("2024年度H2", {2024}, {"H2"}),
        ("2024Q1-Q3", {2024}, {"Q1", "Q2", "Q3"}),
        ("23年三季度", {2023}, {"Q3"}),
        ("23年上半年", {2023}, {"H1"}),
        ("周报20241104", {2024}, {"M11"}),
        ("minutes-20240305.md", {2024}, {"M3"}),
        ("2022版制度", {2022}, set()),
        ("工作23年，近10年年报", set(), {"Y"}),
        ("E2024Q, QS-2024Q1X, 2024x, 2024Q12, 2024H3", set(), set()),
        ("FAQ1, iQ3, MQ1-200", set(), set()),
        ("1720241104123, 20241304, A20241104, 20241104元", set(), set()),
        ("sales in Nov-24", {2024}, {"M11"}),
        ("sales of Nov '22", {2022}, {"M11"}),
        ("minutes Nov-2024", {2024}, {"M11"}),
        ("2024-Nov 的销量", {2024}, {"M11"}),
        ("in 2024 November", {2024}, {"M11"}),
        ("2024M11产量", {2024}, {"M11"}),
        ("revenue in 11/2024", {2024}, {"M11"}),
        ("11/2024的产量", {2024}, {"M11"}),
        ("2024.11的产量", {2024}, {"M11"}),
        ("In 2024 may follow more", {2024}, set()),
        ("price 11.2024, ratio 1.2024, 2024m2, 11.2024元", set(), set()),
        ("tel. 555-1124, the DEC-21 module, 24/11", set(), set()),
        ("Regulation 11/2024", {2024}, set()),
    ],
)
def test_periods_are_found(text: str, years: set[int], parts: set[str]) -> None:
    found = periods(text)
    assert (found.years, found.parts) == (years, parts)


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        ("2022版制度", {2022}),
        ("the 2022 edition", {2022}),
        ("2022 version of the policy", {2022}),
        ("明川电气2024Q1", {2024}),
        ("周报20241104", {2024}),
        ("2022版权所有", set()),
        ("2022 versions", set()),
        ("model 2022", set()),
    ],
)
def test_some_years_can_be_nothing_else(text: str, sure: set[int]) -> None:
    assert periods(text).sure == sure


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


@pytest.mark.parametrize(
    ("cell", "anywhere", "in_times", "in_months"),
    [
        ("11/2024", "2024年11月", "2024年11月", "2024年11月"),
        ("11-2024", "2024年11月", "2024年11月", "2024年11月"),
        ("Nov-24", "2024年11月", "2024年11月", "2024年11月"),
        ("Nov '22", "2022年11月", "2022年11月", "2022年11月"),
        ("Sept. 2024", "2024年9月", "2024年9月", "2024年9月"),
        ("2024-Nov", "2024年11月", "2024年11月", "2024年11月"),
        ("2024 November", "2024年11月", "2024年11月", "2024年11月"),
        ("2024M11", "2024年11月", "2024年11月", "2024年11月"),
        ("2024年11月", "2024年11月", "2024年11月", "2024年11月"),
        ("2024.11", "2024.11", "2024年11月", "2024年11月"),
        ("11.2024", "11.2024", "2024年11月", "2024年11月"),
        ("202411", "202411", "2024年11月", "2024年11月"),
        ("24/11", "24/11", "11月", "2024年11月"),
        ("11", "11", "11", "11月"),
        ("202413", "202413", "202413", "202413"),
        ("11/12", "11/12", "11/12", "11/12"),
        ("24 Nov", "24 Nov", "24 Nov", "24 Nov"),
    ],
)
def test_a_cell_may_hold_a_month(cell: str, anywhere: str, in_times: str, in_months: str) -> None:
    assert spelled_month(cell, is_month=False) == anywhere
    assert spelled_month(cell, is_month=False, is_time=True) == in_times
    assert spelled_month(cell, is_month=True, is_time=True) == in_months
