"""Web pages: what is content, and that tables, lists, code and characters keep their form."""

from __future__ import annotations

import pytest

from tests.ingest.reading import CASES, only, read


def text(page: str) -> str:
    return only(read("a.html", page)).text


def case(name: str) -> str:
    return only(read(name, (CASES / name).read_bytes())).text


def test_case_e09_cells_of_rich_tables():
    assert case("html_rich_table_cells.html") == "\n\n".join([
        "# Rich Table Cells in HTML",
        "Basic duck facts",
        "| Name | Habitat | Comment |\n|---|---|---|\n"
        "| Wood Duck |  | Often seen near ponds. |\n"
        "| Mallard | Ponds, lakes, rivers | Quack |\n"
        "| Goose (not a duck!) | Water & wetlands | Large, loud, noisy, small |\n"
        "| Teal | Pond; Marsh; Riverbank | Fly south in winter; Build nest on ground |",
        "Duck family tree (simplified)",
        "| Genus | Species |\n|---|---|\n"
        "| Aythya; (Diving ducks) | Hawser, Common Pochard |\n"
        "| Lophonetta; (Pintail group) | Fulvous Whistling Duck |\n"
        "| Oxyura; (Benthic ducks) | Wigee, Banded Water‑screw |",
        "Duck‑related actions",
        "| Action |  |\n|---|---|\n"
        "| Swim | Gracefully glide on H2O surfaces. |\n"
        "| Fly |  |\n"
        "| Quack | Type, Sound; Short, “quak”; Long, “quaaaaaack” |",
        "Famous Ducks with Images",
        "| Name | Description | Image |\n|---|---|---|\n"
        "| Donald Duck | Cartoon character. | View PNG |\n"
        "| White-headed duck | A small diving duck some 45 cm (18 in) long. | "
        "[image: White-headed duck thumbnail] |\n"
        "| Mandarin Duck | Known for its striking plumage. | View Full‑Size Image |\n"
        "| Unknown Duck | No photo available. |  |",
    ])  # fmt: skip


def test_case_e09_furniture_and_scripts():
    assert case("html/noise.html") == (
        "Ada Lin leads—since 2019.\n\n| Part | Qty |\n|---|---|\n| Valve | 12 |"
    )
    assert case("html_header_footer.html") == "# My First Heading\n\nMy first paragraph."


def test_tables_that_lay_out_a_page_are_no_tables():
    page = (
        "<table><tr><td><table><tr><th>部件<th>数量<tr><td>阀门<td>12</table><td>说明文字</table>"
    )
    assert text(page) == "| 部件 | 数量 |\n|---|---|\n| 阀门 | 12 |\n\n说明文字"
    page = "<table><tr><td><h2>左</h2><p>甲<td><p>乙</table>"
    assert text(page) == "## 左\n\n甲\n\n乙"


LONG = "The pump of Bergen runs at six bar and is looked after by Ada Lin. " * 4


def test_only_the_main_part_is_read_where_it_holds_most_of_the_page():
    page = f"<div>Offers of the day</div><main><h1>Pump</h1><p>{LONG}</main><div>More</div>"
    assert text(page) == f"# Pump\n\n{LONG.strip()}"
    page = f"<div>Offers</div><article><p>{LONG}</article><aside>Ads</aside>"
    assert text(page) == LONG.strip()
    # Two articles, or a small main part: the page is more than that.
    assert text("<article>一</article><article>二</article>") == "一\n\n二"
    assert text(f"<main>一</main><p>{LONG}") == f"一\n\n{LONG.strip()}"


@pytest.mark.parametrize("name", ["breadcrumbs", "sidebar", "nav", "related"])
def test_named_link_lists_are_left_out(name):
    links = f'<div class="x {name}"><a href=a>Home</a> › <a href=b>Pumps</a></div>'
    assert text(f"{links}<p>{LONG}") == LONG.strip()
    # A part of that name which holds text of its own is content.
    note = f'<div class="{name}">Ask <a href=a>Ada</a> before the pump is opened.</div>'
    assert text(f"{note}<p>{LONG}").startswith("Ask Ada before the pump is opened.")


def test_notices_are_left_out_where_they_are_small():
    page = f'<div id="footer">版权所有 青石公司</div><div class="cookie-banner">OK?</div><p>{LONG}'
    assert text(page) == LONG.strip()
    assert text(f'<p>Short.</p><div id="footer">{LONG}</div>') == f"Short.\n\n{LONG.strip()}"


def test_sections_named_by_their_headings_are_content():
    page = f"<section id=copyright><h2>Copyright</h2><p>By Ada.</section><p>{LONG}"
    assert text(page).startswith("## Copyright\n\nBy Ada.")
    page = f"<div class=section id=related><h2>See also</h2><a href=a>Seals</a></div><p>{LONG}"
    assert text(page).startswith("## See also\n\nSeals")


def test_what_is_hidden_is_not_read():
    page = (
        '<p hidden>a</p><p style="color:red; display : none">b</p><template>c</template>'
        "<select><option>d</select><p>Ada</p><iframe>e</iframe>"
    )
    assert text(page) == "Ada"


def test_raised_numbers_keep_apart():
    assert text("<p>10<sup>6</sup> m<sup>2</sup>, 5<sup>th</sup>, H<sub>2</sub>O") == (
        "10^6 m^2, 5th, H2O"
    )
    assert text("<p>in 2019<sup><a href=#n1>1</a></sup>.") == "in 2019[1]."
    assert text("<table><tr><th>量<th>值<tr><td>甲<td>10<sup>-3</sup></table>") == (
        "| 量 | 值 |\n|---|---|\n| 甲 | 10^-3 |"
    )


def test_readings_above_characters_are_not_mixed_in():
    assert text("<p><ruby>水<rp>(</rp><rt>shuǐ</rt><rp>)</rp></ruby>表") == "水表"


def test_line_ends_in_chinese_are_no_spaces():
    assert text("<p>陈明负责\n   水表，\n在杭州。\n<p>Ada\nleads.") == (
        "陈明负责水表，在杭州。\n\nAda leads."
    )


def test_links_keep_their_words_and_code_its_lines():
    page = "<p>See <a href='https://x.example'>the manual</a>.<pre><code>a = `b`\n  c</code></pre>"
    assert text(page) == "See the manual.\n\n```\na = `b`\n  c\n```"


def test_anchors_beside_headings_go_and_the_language_of_code_stays():
    page = "<h2>阀门<a class=headerlink href='#valve'>¶</a></h2><p>See <a href='#b'>§ 5</a>."
    assert text(page) == "## 阀门\n\nSee § 5."
    page = "<pre><code class='hljs language-python'>x = 1</code></pre><pre class='lang-sql'>y"
    assert text(page) == "```python\nx = 1\n```\n\n```sql\ny\n```"


def test_metadata_of_the_page():
    page = (
        '<html><head><meta property="og:title" content="泵 手册"><meta property="og:site_name" '
        'content="青石"><meta property="article:published_time" content="2024-03-05T09:30:00Z">'
        '<meta property="og:description" content="Short"><link rel=canonical href="https://a/b">'
        "</head><body><h1>Other</h1><p>Text"
    )
    record = only(read("a.html", page))
    assert record.title == "泵 手册"
    assert record.metadata == {
        "site": "青石", "date": "2024-03-05T09:30:00Z", "description": "Short",
        "url": "https://a/b",
    }  # fmt: skip
    assert record.creation_date == "2024-03-05T09:30:00Z"
    assert only(read("a.html", "<h1>阀门 <b>A</b></h1>x")).title == "阀门 A"


@pytest.mark.parametrize(
    ("charset", "words"),
    [
        ("gb2312", "陈明"),
        ("big5", "說明"),
        ("windows-1251", "насос"),
        ("shift_jis", "弁の説明です"),
    ],
)
def test_the_charset_that_the_page_states_is_used(charset, words):
    page = f'<meta http-equiv=Content-Type content="text/html; charset={charset}"><p>{words}。'
    data = page.replace("。", ".").encode(charset)
    assert only(read("a.html", data)).text == f"{words}."


def test_case_e17_deep_nesting():
    assert case("html/deep_nest.html").strip()
    for tag in ("div class=nav", "table><tr><td", "sup", "main", "article"):
        assert "core" in text(f"<{tag}>" * 3000 + "core")


def test_thousands_of_headers_in_each_other_are_read_without_delay():
    page = "<header>" * 20_000 + "<h1>Title 标题</h1><p>Text.</p>"
    assert "# Title 标题" in only(read("a.html", page)).text


@pytest.mark.parametrize("words", ["Valve, opened", "阀门剖面图"])
def test_alternative_texts_of_images_are_read(words):
    image = f'<img src="a.png" alt="{words}">'
    assert text(f"<h1>A</h1><p>See {image} here.</p>") == f"# A\n\nSee [image: {words}] here."
    rows = f"<tr><th>Part<th>Photo<tr><td>V1<td>{image}"
    assert text(f"<table>{rows}</table>").endswith(f"| V1 | [image: {words}] |")


def test_images_that_say_nothing_are_left_out():
    silent = '<img src="a.png"><img alt=""><img alt="DSC_01.jpg"><img alt="Line" role="none">'
    assert text(f"<p>Fine <img alt='👍'>{silent}.</p>") == "Fine 👍."


@pytest.mark.parametrize(
    ("start", "name"),
    [
        ("", "Blue Heron"),
        ("<?xml version='1.0'?>\n<!-- it's -->\n", "苍鹭"),
        ('PUBLIC "-//W3C//DTD XHTML 1.0//EN" "a.dtd" ', "Œuvre"),
    ],
)
def test_entities_that_a_page_declares_stand_for_their_text(start, name):
    before, public = (start, "") if start.startswith("<") else ("", start)
    page = (
        f'{before}<!DOCTYPE html {public}[\n<!ENTITY firm "{name}"> <!-- don\'t ]> -->\n'
        "<!ENTITY other SYSTEM 'file:///etc/passwd'><!ENTITY firm 'second'>\n"
        "<!ENTITY loop '&firm;&loop;&amp;'>\n]>\n"
        "<html><p>&firm; paid&other; &loop; 3 &lt; 4 &unknown;</p></html>"
    )
    assert text(page) == f"{name} paid & 3 < 4 &unknown;"


def test_entities_do_not_swell_a_page():
    levels = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 9}">' for n in range(9))
    page = f'<!DOCTYPE html [<!ENTITY e0 "{"ha" * 600}">{levels}]><p>End &e9;&e1;&e0;.</p>'
    assert text(page) == "End ."
