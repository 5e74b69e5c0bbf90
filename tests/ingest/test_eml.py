"""E-mail: body, people, dates and attachments of letters in every shape mail programs write."""

from __future__ import annotations

from email.message import EmailMessage
from email.mime.text import MIMEText

import pytest

from tests.ingest.reading import CASES, by_member, only, read, refused


def letter(**headers: str) -> EmailMessage:
    mail = EmailMessage()
    for name, value in {"From": "Ada Lin <ada@example.com>", **headers}.items():
        mail[name.replace("_", "-")] = value
    return mail


def test_case_e11_an_unknown_charset_is_guessed():
    record = only(read("bad_charset.eml", (CASES / "eml/bad_charset.eml").read_bytes()))
    assert record.text == "From: a@example.com\n\nAda Lin sent the plan."
    assert (record.title, record.media_type) == ("x", "message/rfc822")


def test_the_head_is_part_of_the_text_and_of_the_metadata():
    mail = letter(
        To="Ben Roe <ben@example.com>, c@example.com", Cc="d@example.com", Subject="Pump plan",
        Date="Tue, 5 Mar 2024 09:30:00 +0800", Message_ID="<1@example.com>",
    )  # fmt: skip
    mail.set_content("The pump goes to Bergen.\n\n> Which pump?\n> And when?\n")
    record = only(read("m.eml", mail.as_bytes()))
    assert record.text == (
        "From: Ada Lin <ada@example.com>\nTo: Ben Roe <ben@example.com>, c@example.com\n"
        "Cc: d@example.com\nDate: 2024-03-05 09:30:00+08:00\n\n"
        "The pump goes to Bergen.\n\n> Which pump?\n> And when?"
    )
    assert record.title == "Pump plan"
    assert record.creation_date == "2024-03-05T09:30:00+08:00"
    assert record.metadata == {
        "from": "Ada Lin <ada@example.com>", "to": "Ben Roe <ben@example.com>, c@example.com",
        "cc": "d@example.com", "subject": "Pump plan", "message_id": "<1@example.com>",
    }  # fmt: skip


def test_chinese_letters_have_chinese_labels_and_decoded_heads():
    head = (
        "From: =?gb2312?B?s8LD9w==?= <chen@example.com>\r\n"
        "To: =?UTF-8?Q?=E6=9D=8E=E5=9B=9B?= <li@example.com>\r\n"
        "Subject: =?gb2312?B?y66x7bLJubrHy8um?=\r\n =?gb2312?B?1qrNqA==?=\r\n"
        "Content-Type: text/plain; charset=gb2312\r\nContent-Transfer-Encoding: 8bit\r\n\r\n"
    )
    data = head.encode() + "青石公司已采购水表。".encode("gbk")
    record = only(read("m.eml", data))
    assert record.text == (
        "发件人: 陈明 <chen@example.com>\n收件人: 李四 <li@example.com>\n\n青石公司已采购水表。"
    )
    assert record.title.startswith("水表采购")
    assert "知通" in record.title


def test_heads_in_raw_bytes_are_decoded():
    data = "From: 陈明 <chen@example.com>\nSubject: 水表采购通知说明\n\n正文在此。".encode("gbk")
    record = only(read("m.eml", data))
    assert record.title == "水表采购通知说明"
    assert record.metadata["from"] == "陈明 <chen@example.com>"


def alternatives(plain: str, html: str) -> str:
    mail = letter(Subject="s")
    mail.set_content(plain)
    mail.add_alternative(html, subtype="html")
    return only(read("m.eml", mail.as_bytes())).text.partition("\n\n")[2]


def test_of_two_forms_the_plain_one_is_read():
    text = "The pump goes to Bergen on Monday."
    assert alternatives(text, f"<p><b>{text}</b></p>") == text


@pytest.mark.parametrize("plain", ["\n", "Please view this letter as HTML."])
def test_the_html_form_is_read_where_the_plain_one_says_less(plain):
    html = "<h2>News</h2><p>The pump goes to Bergen on Monday, with all its seals and valves.</p>"
    assert alternatives(plain, html) == (
        "## News\n\nThe pump goes to Bergen on Monday, with all its seals and valves."
    )


def test_the_html_form_is_read_where_it_holds_a_table():
    table = "<table><tr><th>Part<th>Qty<tr><td>Valve<td>12</table>"
    plain = "Part Qty\nValve 12"
    assert alternatives(plain, table) == "| Part | Qty |\n|---|---|\n| Valve | 12 |"


def test_attachments_are_documents_and_pictures_are_named():
    mail = letter(Subject="Plan")
    mail.set_content("See the files.")
    mail.add_attachment("陈明负责水表。".encode(), "text", "plain", filename="说明.txt")
    mail.add_attachment(b"id,text\n7,Valve\n", "text", "csv", filename="parts.csv")
    mail.add_attachment(b"MZ\x00\x01", "application", "octet-stream", filename="a.exe")
    picture = EmailMessage()
    picture.set_content(b"\x89PNG", "image", "png", disposition="inline", filename="logo.png")
    picture["Content-ID"] = "<logo>"
    mail.attach(picture)
    reading = read("in/m.eml", mail.as_bytes())
    assert by_member(reading) == {
        "": "From: Ada Lin <ada@example.com>\n\nSee the files.\n\n"
        "Attachments: 说明.txt, parts.csv, a.exe\nImages: logo.png",
        "说明.txt": "陈明负责水表。",
        "parts.csv": "Valve",
    }
    assert list(refused(reading)) == ["in/m.eml/a.exe"]
    assert reading.records[0].metadata["attachments"] == ["说明.txt", "parts.csv", "a.exe"]


def test_attached_letters_are_documents_with_their_own_attachments():
    inner = letter(Subject="Inner: plan/b")
    inner.set_content("Inner text.")
    inner.add_attachment(b"deep", "text", "plain", filename="deep.txt")
    mail = letter(Subject="Outer")
    mail.set_content("Outer text.")
    mail.add_attachment(inner)
    found = by_member(read("m.eml", mail.as_bytes()))
    assert list(found) == ["", "Inner: plan_b.eml", "Inner: plan_b.eml/deep.txt"]
    assert "Inner text." in found["Inner: plan_b.eml"]
    assert found["Inner: plan_b.eml/deep.txt"] == "deep"


def test_attachment_names_cannot_lead_out_and_do_not_collide():
    mail = letter(Subject="s")
    mail.set_content("Text.")
    for data in (b"one", b"two"):
        mail.add_attachment(data, "text", "plain", filename="../../etc/a.txt")
    assert list(by_member(read("m.eml", mail.as_bytes()))) == [
        "", "a (2).txt", "a.txt",
    ]  # fmt: skip


def test_a_name_in_encoded_words_is_decoded():
    data = (
        b"From: a@example.com\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        b'Content-Type: application/octet-stream; name="=?gb2312?B?y7Wx7S50eHQ=?="\n'
        b"Content-Disposition: attachment; filename*=gb2312''%CB%B5%B1%ED.txt\n\nAda\n--b--\n"
    )
    assert "说表.txt" in by_member(read("m.eml", data))


def test_flowed_lines_are_joined():
    data = (
        b"From: a@example.com\nContent-Type: text/plain; format=flowed\n\n"
        b"The pump goes \nto Bergen.\n> quoted \n> lines\n-- \nAda\n"
    )
    text = only(read("m.eml", data)).text
    assert text.endswith("The pump goes to Bergen.\n> quoted\n> lines\n--\nAda")


def test_signatures_and_invitations_are_no_documents():
    mail = letter(Subject="s")
    mail.set_content("Text.")
    mail.add_attachment(b"x", "application", "pkcs7-signature", filename="smime.p7s")
    mail.add_attachment(b"BEGIN:VCALENDAR", "text", "calendar", filename="invite.ics")
    reading = read("m.eml", mail.as_bytes())
    assert only(reading).text.endswith("\n\nText.")


@pytest.mark.parametrize("words", ["The pump is here.", "水表到了。"])
def test_attachments_in_outlook_s_own_format_are_noted(words):
    mail = letter(Subject="s")
    mail.set_content(words)
    mail.add_attachment(b'x\x9f>"', "application", "ms-tnef", filename="winmail.dat")
    reading = read("m.eml", mail.as_bytes())
    assert words in only(reading).text
    (note,) = reading.notes
    assert note.startswith("m.eml: attachments in Outlook's own format (winmail.dat) are left out")


@pytest.mark.parametrize(
    "kind", ["multipart/encrypted; boundary=b", "application/pkcs7-mime; name=smime.p7m"]
)
def test_encrypted_letters_are_reported(kind):
    data = f"From: a@example.com\nContent-Type: {kind}\n\n--b\n\nx\n--b--\n"
    assert "encrypted, skipped" in refused(read("m.eml", data))["m.eml"]


def test_quoted_printable_and_base64_are_undone():
    part = MIMEText("陈明负责水表。", "plain", "utf-8")
    part["From"] = "a@example.com"
    assert only(read("m.eml", part.as_bytes())).text.endswith("陈明负责水表。")
    data = (
        b"From: a@example.com\nContent-Type: text/plain; charset=iso-8859-1\n"
        b"Content-Transfer-Encoding: quoted-printable\n\nThe caf=E9 is =\nopen.\n"
    )
    assert only(read("m.eml", data)).text.endswith("The café is open.")


def test_what_is_no_letter_says_so():
    assert "not an e-mail" in refused(read("m.eml", "\n\njust text"))["m.eml"]


def test_deeply_nested_parts_are_no_crash():
    head = "".join(f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(3000))
    reading = read("m.eml", f"From: a@example.com\n{head}\nText")
    assert refused(reading) == {"m.eml": "its parts are nested too deeply"}


def test_a_mailbox_is_letters_in_order():
    box = (
        "From ada@example.com Tue Mar  5 09:30:00 2024\nFrom: ada@example.com\nSubject: One\n\n"
        "First.\n>From here on it rains.\n\n"
        "From ben@example.com Wed Mar  6 09:30:00 2024\nFrom: ben@example.com\nSubject: 二\n\n"
        "第二封信说水表到了。\n"
    )
    reading = read("all.mbox", box)
    assert [(record.member, record.title) for record in reading.records] == [
        ("00001.eml", "One"), ("00002.eml", "二"),
    ]  # fmt: skip
    assert reading.records[0].text.endswith("First.\nFrom here on it rains.")
    assert reading.records[1].text.startswith("发件人: ben@example.com")
    assert "not a mailbox" in refused(read("all.mbox", "text"))["all.mbox"]


def test_a_saved_web_page_is_its_page():
    data = (
        "From: <Saved by Blink>\nSubject: x\nMIME-Version: 1.0\n"
        "Content-Type: multipart/related; boundary=b\n\n--b\n"
        "Content-Type: text/html; charset=utf-8\nContent-Transfer-Encoding: quoted-printable\n\n"
        "<title>Pumps</title><nav>Menu</nav><p>Ada leads=E2=80=94since 2019.</p>\n--b\n"
        "Content-Type: image/png\n\nx\n--b--\n"
    )
    record = only(read("p.mhtml", data))
    assert (record.title, record.text, record.media_type) == (
        "Pumps", "Ada leads—since 2019.", "text/html",
    )  # fmt: skip


def test_office_documents_in_letters_are_read_with_their_tables():
    data = (CASES / "docx_tables_merged.docx").read_bytes()
    alone = only(read("merged.docx", data))
    mail = letter(Subject="s")
    mail.set_content("See the table.")
    mail.add_attachment(data, "application", "octet-stream", filename="表格.docx")
    attached = read("m.eml", mail.as_bytes()).records[1]
    assert (attached.member, attached.text) == ("表格.docx", alone.text)
    assert attached.media_type == alone.media_type
    assert "|---|" in attached.text


@pytest.mark.parametrize("data", ["", "__substg1.0_0037001F"])
def test_outlook_messages_are_refused_with_what_to_do(data):
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + data.encode("utf-16-le")
    (reason,) = refused(read("m.msg", ole)).values()
    assert reason.endswith("save it as .eml" if data else "save it as .docx, .pptx or .xlsx")


def test_a_head_that_python_cannot_parse_stays_as_it_is_written():
    record = only(read("m.eml", "Subject: 泵站\nFrom: " + "a@b: From: " * 3_000 + "\n\nBody.\n"))
    assert "a@b: From: a@b:" in record.text
