"""A project in both languages with facts to ask for, built once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from graphkb.project import Project

FILES = {
    "osprey.md": "# The tidal array\n\nAda Lin leads the Osprey project at Bluestone. "
    "Bluestone has 320 employees.\n",
    "people.md": "# Biographies\n\nAda Lin was born in Bergen in 1979. Tom Reed was born in "
    "Lisbon. Tom Reed designed the Petrel gateway.\n",
    "errors.md": "# Codes\n\n| Code | Meaning |\n| --- | --- |\n| E-4107 | Brake pressure lost |\n"
    "| E-4110 | Vibration too high |\n\n## How to reset the gateway\n\nHold the red button for "
    "ten seconds. Then wait.\n",
    "公司.md": "# 简介\n\n陈明负责北斗水表项目。青石公司成立于2014年3月。青石公司有员工320人。\n",
    "2020年第三季度报告.md": "# 季度报告\n\n青石公司的员工数是301人，2021年第三季度将有315人。\n",
    "2021年第三季度报告.md": "# 季度报告\n\n青石公司的员工数是315人，去年是301人。\n",
    "人物.md": "# 人物\n\n陈明于2001年毕业于清华大学。王芳是青石公司的首席工程师。\n",
    "套餐.md": "# 价目\n\n| 套餐 | 月费 |\n| --- | --- |\n| 专业版 | 49元 |\n| 企业版 | 199元 |\n",
}


@pytest.fixture(scope="session")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("eval") / "kb"
    (root / "input").mkdir(parents=True)
    for name, text in FILES.items():
        (root / "input" / name).write_text(text, "utf8")
    project = Project(root, ["embed.when=off", "extract.workers=1"])
    project.index()
    yield project
    project.close()
