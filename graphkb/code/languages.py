"""The programming languages that are parsed, as the node types of their tree-sitter grammars."""

from __future__ import annotations

import importlib
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Parser

EXTRA = 'pip install "graphkb[code]"'


@dataclass(frozen=True)
class Language:
    """Node types and field names of one grammar.

    ``functions``, ``classes`` and ``spaces`` (namespaces) make scopes; ``calls`` map a call to
    the field of what is called, ``method_calls`` to the fields of receiver and method, ``news``
    to the field of the class made (empty: the first name below). ``members`` map an access to
    object and name; ``names`` are identifiers; what is in ``wrappers`` stands for what it holds.
    ``bindings`` give a name a value or a type, as fields (name, value, type), ``*`` for all that
    stands below. ``this`` are the words for the instance or the class around, ``above`` that for
    its bases. ``implicit_this``: a bare name may be a member of the class. ``reach``: what files
    see of others without an import: nothing, their folder, or everything.
    """

    name: str
    suffixes: tuple[str, ...]
    package: str
    functions: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()
    spaces: frozenset[str] = frozenset()
    calls: dict[str, str] = field(default_factory=dict)
    method_calls: dict[str, tuple[str, str]] = field(default_factory=dict)
    news: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, str]] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    bindings: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    bases: tuple[str, ...] = ()
    imports: frozenset[str] = frozenset()
    this: frozenset[str] = frozenset({"this"})
    above: str = "super"
    implicit_this: bool = False
    reach: str = "nothing"
    grammar: str = "language"

    @property
    def media_type(self) -> str:
        """``text/x-…``, by which documents of this language are cut."""
        return f"text/x-{self.name}"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_JS_NAMES = _words(
    "identifier property_identifier private_property_identifier type_identifier this super "
    "shorthand_property_identifier_pattern"
)
_JS_CALLS = {"call_expression": "function"}
_JS_BINDINGS = {
    "variable_declarator": ("name", "value", "type"),
    "assignment_expression": ("left", "right", ""),
    "field_definition": ("property", "value", ""),
    "public_field_definition": ("name", "value", "type"),
    "required_parameter": ("pattern", "value", "type"),
    "optional_parameter": ("pattern", "value", "type"),
    "formal_parameters": ("*", "", ""),
    "catch_clause": ("parameter", "", ""),
    "for_in_statement": ("left", "", ""),
}
_JS_FUNCTIONS = _words(
    "function_declaration generator_function_declaration method_definition function_signature "
    "arrow_function function_expression"
)
_C_BINDINGS = {
    "declaration": ("declarator", "", "type"),
    "field_declaration": ("declarator", "", "type"),
    "parameter_declaration": ("declarator", "", "type"),
    "init_declarator": ("declarator", "value", ""),
    "for_range_loop": ("declarator", "", "type"),
}
_C_WRAPPERS = _words("parenthesized_expression pointer_expression cast_expression")


def _javascript(name: str, suffixes: tuple[str, ...], package: str, grammar: str) -> Language:
    return Language(
        name, suffixes, package,
        functions=_JS_FUNCTIONS,
        classes=_words(
            "class_declaration abstract_class_declaration interface_declaration class "
            "enum_declaration"
        ),
        spaces=_words("internal_module"),
        calls=_JS_CALLS,
        news={"new_expression": "constructor"},
        members={"member_expression": ("object", "property")},
        names=_JS_NAMES,
        wrappers=_words(
            "await_expression parenthesized_expression non_null_expression as_expression"
        ),
        bindings=_JS_BINDINGS,
        bases=("class_heritage", "extends_type_clause"),
        imports=_words("import_statement export_statement"),
        grammar=grammar,
    )  # fmt: skip


LANGUAGES: tuple[Language, ...] = (
    Language(
        "python", (".py", ".pyi"), "tree_sitter_python",
        functions=_words("function_definition"),
        classes=_words("class_definition"),
        calls={"call": "function"},
        members={"attribute": ("object", "attribute")},
        names=_words("identifier"),
        wrappers=_words("await parenthesized_expression"),
        bindings={
            "assignment": ("left", "right", "type"),
            "augmented_assignment": ("left", "", ""),
            "named_expression": ("name", "value", ""),
            "typed_parameter": ("*", "", "type"),
            "typed_default_parameter": ("name", "", "type"),
            "default_parameter": ("name", "", ""),
            "parameters": ("*", "", ""),
            "lambda_parameters": ("*", "", ""),
            "for_statement": ("left", "", ""),
            "for_in_clause": ("left", "", ""),
            "as_pattern": ("alias", "*", ""),
        },
        bases=("superclasses",),
        imports=_words("import_statement import_from_statement"),
        this=_words("self cls"),
    ),
    _javascript("javascript", (".js", ".jsx", ".mjs", ".cjs"), "tree_sitter_javascript",
                "language"),
    _javascript("typescript", (".ts", ".mts", ".cts"), "tree_sitter_typescript",
                "language_typescript"),
    _javascript("tsx", (".tsx",), "tree_sitter_typescript", "language_tsx"),
    Language(
        "java", (".java",), "tree_sitter_java",
        functions=_words("method_declaration constructor_declaration"),
        classes=_words(
            "class_declaration interface_declaration enum_declaration record_declaration"
        ),
        method_calls={"method_invocation": ("object", "name")},
        news={"object_creation_expression": "type"},
        members={"field_access": ("object", "field"), "scoped_identifier": ("scope", "name")},
        names=_words("identifier type_identifier this super"),
        wrappers=_words("parenthesized_expression"),
        bindings={
            "local_variable_declaration": ("declarator", "", "type"),
            "field_declaration": ("declarator", "", "type"),
            "formal_parameter": ("name", "", "type"),
            "variable_declarator": ("name", "value", ""),
            "enhanced_for_statement": ("name", "", "type"),
            "lambda_expression": ("parameters", "", ""),
        },
        bases=("superclass", "interfaces", "extends_interfaces"),
        imports=_words("import_declaration"),
        implicit_this=True,
        reach="folder",
    ),
    Language(
        "go", (".go",), "tree_sitter_go",
        functions=_words("function_declaration method_declaration"),
        classes=_words("type_spec"),
        calls={"call_expression": "function"},
        news={"composite_literal": "type"},
        members={
            "selector_expression": ("operand", "field"),
            "qualified_type": ("package", "name"),
        },
        names=_words("identifier type_identifier field_identifier package_identifier"),
        wrappers=_words("parenthesized_expression unary_expression"),
        bindings={
            "short_var_declaration": ("left", "right", ""),
            "assignment_statement": ("left", "right", ""),
            "var_spec": ("name", "value", "type"),
            "parameter_declaration": ("name", "", "type"),
            "field_declaration": ("name", "", "type"),
            "range_clause": ("left", "", ""),
        },
        imports=_words("import_spec"),
        above="",
        reach="folder",
    ),
    Language(
        "rust", (".rs",), "tree_sitter_rust",
        functions=_words("function_item function_signature_item"),
        classes=_words("struct_item enum_item trait_item impl_item"),
        spaces=_words("mod_item"),
        calls={"call_expression": "function"},
        news={"struct_expression": "name"},
        members={"field_expression": ("value", "field"), "scoped_identifier": ("path", "name")},
        names=_words("identifier type_identifier field_identifier self super crate"),
        wrappers=_words(
            "parenthesized_expression reference_expression await_expression try_expression"
        ),
        bindings={
            "let_declaration": ("pattern", "value", "type"),
            "parameter": ("pattern", "", "type"),
            "field_declaration": ("name", "", "type"),
            "closure_parameters": ("*", "", ""),
            "for_expression": ("pattern", "", ""),
        },
        imports=_words("use_declaration"),
        this=_words("self Self"),
        above="",
    ),
    Language(
        "c", (".c", ".h"), "tree_sitter_c",
        functions=_words("function_definition"),
        classes=_words("struct_specifier enum_specifier union_specifier"),
        calls={"call_expression": "function"},
        members={"field_expression": ("argument", "field")},
        names=_words("identifier type_identifier field_identifier"),
        wrappers=_C_WRAPPERS,
        bindings=_C_BINDINGS,
        imports=_words("preproc_include"),
        above="",
        reach="everything",
    ),
    Language(
        "cpp", (".cpp", ".hpp", ".cc", ".cxx", ".hh", ".hxx"), "tree_sitter_cpp",
        functions=_words("function_definition"),
        classes=_words("class_specifier struct_specifier enum_specifier union_specifier"),
        spaces=_words("namespace_definition"),
        calls={"call_expression": "function"},
        news={"new_expression": "type"},
        members={
            "field_expression": ("argument", "field"),
            "qualified_identifier": ("scope", "name"),
        },
        names=_words("identifier type_identifier field_identifier namespace_identifier this"),
        wrappers=_C_WRAPPERS,
        bindings=_C_BINDINGS,
        bases=("base_class_clause",),
        imports=_words("preproc_include"),
        above="",
        implicit_this=True,
        reach="everything",
    ),
    Language(
        "csharp", (".cs",), "tree_sitter_c_sharp",
        functions=_words("method_declaration constructor_declaration local_function_statement"),
        classes=_words(
            "class_declaration interface_declaration struct_declaration record_declaration "
            "enum_declaration"
        ),
        spaces=_words("namespace_declaration"),
        calls={"invocation_expression": "function"},
        news={"object_creation_expression": "type"},
        members={
            "member_access_expression": ("expression", "name"),
            "qualified_name": ("qualifier", "name"),
        },
        names=_words("identifier this base"),
        wrappers=_words("parenthesized_expression await_expression"),
        bindings={
            "variable_declaration": ("variable_declarator", "", "type"),
            "variable_declarator": ("name", "*", ""),
            "parameter": ("name", "", "type"),
            "property_declaration": ("name", "", "type"),
            "foreach_statement": ("left", "", "type"),
        },
        bases=("base_list",),
        imports=_words("using_directive"),
        above="base",
        implicit_this=True,
        reach="everything",
    ),
    Language(
        "ruby", (".rb",), "tree_sitter_ruby",
        functions=_words("method singleton_method"),
        classes=_words("class"),
        spaces=_words("module"),
        method_calls={"call": ("receiver", "method")},
        members={"scope_resolution": ("scope", "name")},
        names=_words("identifier constant self super instance_variable"),
        wrappers=_words("parenthesized_statements"),
        bindings={
            "assignment": ("left", "right", ""),
            "method_parameters": ("*", "", ""),
            "block_parameters": ("*", "", ""),
            "optional_parameter": ("name", "", ""),
            "keyword_parameter": ("name", "", ""),
        },
        bases=("superclass",),
        this=_words("self"),
        implicit_this=True,
        reach="everything",
    ),
    Language(
        "php", (".php",), "tree_sitter_php",
        functions=_words("function_definition method_declaration"),
        classes=_words(
            "class_declaration interface_declaration trait_declaration enum_declaration"
        ),
        calls={"function_call_expression": "function"},
        method_calls={
            "member_call_expression": ("object", "name"),
            "nullsafe_member_call_expression": ("object", "name"),
            "scoped_call_expression": ("scope", "name"),
        },
        news={"object_creation_expression": ""},
        members={"member_access_expression": ("object", "name")},
        names=_words("name variable_name relative_scope"),
        wrappers=_words("parenthesized_expression"),
        bindings={
            "assignment_expression": ("left", "right", ""),
            "simple_parameter": ("name", "", "type"),
            "property_promotion_parameter": ("name", "", "type"),
            "property_declaration": ("property_element", "", "type"),
            "foreach_statement": ("*", "", ""),
        },
        bases=("base_clause", "class_interface_clause"),
        imports=_words("namespace_use_clause"),
        this=_words("this self static"),
        above="parent",
        reach="everything",
        grammar="language_php",
    ),
    Language(
        "bash", (".sh", ".bash"), "tree_sitter_bash",
        functions=_words("function_definition"),
        calls={"command": "name"},
        names=_words("command_name word"),
        reach="everything",
    ),
)  # fmt: skip

BY_NAME = {language.name: language for language in LANGUAGES}
BY_MEDIA_TYPE = {language.media_type: language for language in LANGUAGES}
BY_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}

#: Read as code and cut by lines: no grammar is at hand.
PLAIN_SUFFIXES = {
    ".sql": "text/x-sql", ".kt": "text/x-kotlin", ".swift": "text/x-swift",
    ".scala": "text/x-scala", ".lua": "text/x-lua",
}  # fmt: skip


@cache
def parser_of(name: str) -> Parser | None:
    """The parser of a language, or None where the extra ``code`` is not installed."""
    language = BY_NAME[name]
    try:
        from tree_sitter import Language as Grammar
        from tree_sitter import Parser

        package = importlib.import_module(language.package)
    except ImportError:
        return None
    return Parser(Grammar(getattr(package, language.grammar)()))


def is_installed(name: str = "python") -> bool:
    """Whether files of a language can be parsed here."""
    return parser_of(name) is not None
