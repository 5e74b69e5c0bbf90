"""Past tenses of verbs that say what people and organizations did, for questions with "did"."""

from __future__ import annotations

_IRREGULAR = {
    "became": "become", "began": "begin", "bought": "buy", "broke": "break", "brought": "bring",
    "built": "build", "came": "come", "chose": "choose", "cost": "cost", "drew": "draw",
    "fell": "fall", "found": "find", "gave": "give", "got": "get", "grew": "grow", "held": "hold",
    "hit": "hit", "kept": "keep", "led": "lead", "left": "leave", "lent": "lend", "lost": "lose",
    "made": "make", "met": "meet", "paid": "pay", "ran": "run", "rose": "rise", "sang": "sing",
    "sent": "send", "sold": "sell", "spent": "spend", "spoke": "speak", "stood": "stand",
    "taught": "teach", "took": "take", "went": "go", "withdrew": "withdraw", "won": "win",
    "wrote": "write",
}  # fmt: skip
_REGULAR = (
    "acquire add admit adopt announce appear apply appoint approve arrange arrive assign attend "
    "award base cancel carry cause celebrate chair change charge claim close collect compete "
    "complete compose conduct confirm contain contribute control cover create cut decide declare "
    "decline decrease defeat defend deliver demolish deploy design destroy detect develop "
    "die direct discover distribute donate drop earn edit elect employ end enter equip escalate "
    "establish examine expand explain export extend face fail finance finish form found fund gain "
    "graduate host hire identify import improve include increase influence inspect install "
    "introduce invent invest issue join launch lease license limit live locate lower maintain "
    "manage manufacture marry measure merge migrate move name negotiate observe occupy occur offer "
    "open operate order organise organize overtake own paint patent perform plan play present "
    "print process produce promote propose prove provide publish purchase raise reach receive "
    "record reduce refuse register reject release relocate remove rename renew reopen repair "
    "replace report represent require resign restore retire return reveal review revise score "
    "separate serve settle share ship sign spread start stage stop store study submit succeed "
    "suffer supply support surrender suspend switch test trade train transfer treat turn unveil "
    "update use visit vote want warn win work"
).split()
_DOUBLING = frozenset("admit cancel control drop equip occur plan ship stop transfer".split())


def _past(base: str) -> str:
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ied"
    return base + base[-1] * (base in _DOUBLING) + "ed"


BASES: dict[str, str] = {**{_past(base): base for base in _REGULAR}, **_IRREGULAR}
"""Base form by past tense.

>>> [BASES[past] for past in ("joined", "wrote", "operated", "planned", "carried")]
['join', 'write', 'operate', 'plan', 'carry']
"""
