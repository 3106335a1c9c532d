//! Lists the paths that the items of one module contain, wherever they are: `use`, types, expressions, macros and
//! attributes. Does not know what a path refers to.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{
    Attribute, Ident, Item, ItemMod, ItemUse, LitStr, Macro, Meta, UseTree, VisRestricted, Visibility,
};

/// A path as it is written.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) path: Vec<String>,
    pub(crate) line: usize,
    pub(crate) usage: Usage,
}

/// What a path is there for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Usage {
    /// A private `use`, which binds this name.
    Import(String),
    /// A `use` that others can see, which binds this name.
    Reexport(String),
    /// A type, an expression, or a part of a macro or an attribute.
    Mention,
}

/// A module that another one declares.
pub(crate) struct Child<'a> {
    pub(crate) name: String,
    /// `None` when they are in a file of its own.
    pub(crate) items: Option<&'a [Item]>,
}

/// Lists the paths and the child modules of a module; the children's own paths are not among them.
pub(crate) fn read(items: &[Item]) -> (Vec<Written>, Vec<Child<'_>>) {
    let mut reader = Reader::default();
    for item in items {
        reader.visit_item(item);
    }
    (reader.written, reader.children)
}

#[derive(Default)]
struct Reader<'a> {
    written: Vec<Written>,
    children: Vec<Child<'a>>,
}

impl<'a> Visit<'a> for Reader<'a> {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        self.children.push(Child {
            name: module.ident.to_string(),
            items: module.content.as_ref().map(|(_, items)| items.as_slice()),
        });
    }

    fn visit_item_use(&mut self, import: &'a ItemUse) {
        if import.leading_colon.is_none() {
            let bind = match import.vis {
                Visibility::Inherited => Usage::Import,
                _ => Usage::Reexport,
            };
            self.list_use(&import.tree, &mut Vec::new(), bind);
        }
    }

    /// The path of `pub(in path)` names an ancestor and imports nothing.
    fn visit_vis_restricted(&mut self, _: &'a VisRestricted) {}

    fn visit_path(&mut self, path: &'a syn::Path) {
        if path.leading_colon.is_none() {
            self.mention(path);
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'a Macro) {
        self.list_tokens(call.tokens.clone());
        visit::visit_macro(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.list_tokens(list.tokens.clone());
        }
    }
}

impl Reader<'_> {
    fn mention(&mut self, path: &syn::Path) {
        let Some(first) = path.segments.first() else {
            return;
        };
        self.written.push(Written {
            path: path.segments.iter().map(|part| part.ident.to_string()).collect(),
            line: first.ident.span().start().line,
            usage: Usage::Mention,
        });
    }

    /// Lists the paths of a `use`, with its braces written out.
    fn list_use(&mut self, tree: &UseTree, above: &mut Vec<String>, bind: fn(String) -> Usage) {
        let (last, name) = match tree {
            UseTree::Path(part) => {
                above.push(part.ident.to_string());
                self.list_use(&part.tree, above, bind);
                above.pop();
                return;
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.list_use(tree, above, bind);
                }
                return;
            }
            // Binds names that cannot be listed here, so it counts as a use of the module.
            UseTree::Glob(glob) => {
                self.written.push(Written {
                    path: above.clone(),
                    line: glob.star_token.spans[0].start().line,
                    usage: Usage::Mention,
                });
                return;
            }
            UseTree::Name(name) => (&name.ident, None),
            UseTree::Rename(name) => (&name.ident, Some(&name.rename)),
        };
        let mut path = above.clone();
        if last != "self" || path.is_empty() {
            path.push(last.to_string());
        }
        let name = name.map(Ident::to_string).or_else(|| path.last().cloned());
        self.written.push(Written {
            line: last.span().start().line,
            usage: bind(name.unwrap_or_default()),
            path,
        });
    }

    /// Lists what looks like a path in tokens that only a macro understands, such as `json!`'s, and in texts such as
    /// `#[serde(with = "crate::api::time")]`.
    fn list_tokens(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut line = 0;
        let mut colons = 0;
        for token in tokens {
            match &token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.end_path(&mut path, line);
                        line = name.span().start().line;
                    }
                    path.push(name.to_string());
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Punct(_) => self.end_path(&mut path, line),
                TokenTree::Group(group) => {
                    self.end_path(&mut path, line);
                    self.list_tokens(group.stream());
                }
                TokenTree::Literal(literal) => {
                    self.end_path(&mut path, line);
                    let text = syn::parse_str::<LitStr>(&literal.to_string());
                    if let Ok(written) = text.and_then(|text| text.parse::<syn::Path>())
                        && written.segments.len() > 1
                    {
                        self.mention(&written);
                    }
                }
            }
            colons = 0;
        }
        self.end_path(&mut path, line);
    }

    fn end_path(&mut self, path: &mut Vec<String>, line: usize) {
        if !path.is_empty() {
            self.written.push(Written {
                path: std::mem::take(path),
                line,
                usage: Usage::Mention,
            });
        }
    }
}

fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && matches!(&attribute.meta, Meta::List(list) if list.tokens.to_string() == "test")
    })
}

/// Returns the attributes of the items that this crate's sources mark as being for tests.
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
