"""A small collection with metadata, in both languages, for filters, assembly and explanations."""

from __future__ import annotations

from pathlib import Path

from graphkb.project import Project

LONG = "\n\n".join(
    f"## Part {n}\n\nThe turbine manual, part {n} tells how blades of turbine T-{n:02} are oiled. "
    f"Oil number {n} is used in month {n}, and the mechanic of team {n} signs sheet {n}."
    for n in range(1, 7)
)
FILES = {
    "faq/refund.md": (
        "---\ncategory: refund\nupdated_at: 2024-03-05\ntags: [money, eu]\npriority: 3\n---\n"
        "# Refund rules\n\nA refund is paid within 14 days. Ada Lin approves every refund of the "
        "Osprey project above 500 euros.\n"
    ),
    "zh/退款.md": (
        "---\ncategory: refund\n更新时间: 2022年1月10日\n部门: 财务\n---\n"
        "# 退款规则\n\n退款在十四天内支付。青石公司的陈明批准超过五百元的退款。\n"
    ),
    "faq/shipping.md": (
        "---\ncategory: shipping\nupdated_at: 2023-06-01\npriority: 10\n---\n"
        "# Shipping\n\nParcels leave within two days. Ada Lin leads shipping at Bluestone. "
        "A refund for lost parcels is possible.\n"
    ),
    "plain.md": "# Founding\n\nBluestone was founded in Bergen by Marta Voss.\n",
    "travel.md": "# Travel\n\nA refund of travel costs is paid by Marta Voss in Bergen.\n",
    "zh/公司.md": "# 公司简介\n\n陈明是青石公司的工程师。青石公司在杭州。\n",
    "manual.md": f"---\ncategory: manual\n---\n# Turbine manual\n\n{LONG}\n",
}


def make_project(root: Path, *settings: str) -> Project:
    """The collection, indexed at ``root``, without vectors unless the settings say so; the manual
    has several text units."""
    for name, text in FILES.items():
        path = root / "input" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
    project = Project(root, ["embed.when=off", "chunks.size=60", "chunks.overlap=0", *settings])
    project.index()
    return project
