//! A CEL rule (`x-kubernetes-validations`), as a CRD states it.

use std::sync::{Arc, LazyLock, OnceLock};

use cel::{Env, Program};
use serde::Deserialize;

/// The environment in which all rules are compiled and run.
pub(super) static ENV: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// An expression that must be true.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Rule {
    #[serde(rename = "rule")]
    expression: String,
    /// Error message.
    pub(super) message: String,
    /// The field, below the one that has the rule, that is reported instead of it: `.metadata.name`.
    pub(super) field_path: Option<String>,
    #[serde(skip)]
    program: OnceLock<Result<Program, String>>,
}

impl Rule {
    /// Reports whether the rule is about a change, so that it needs an old value.
    pub(super) fn is_about_change(&self) -> bool {
        self.expression.contains("oldSelf")
    }

    /// Returns the compiled expression, or why it does not compile. It is compiled once.
    pub(super) fn program(&self) -> Result<&Program, &str> {
        let compile = || ENV.compile(&self.expression).map_err(|error| error.to_string());
        self.program.get_or_init(compile).as_ref().map_err(String::as_str)
    }
}
