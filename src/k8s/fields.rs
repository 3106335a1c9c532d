//! Which fields of Kubernetes' own types hold quantities, and which hold the users' own keys.

/// Maps of texts.
const TEXT_MAPS: [&str; 5] = [
    "labels",
    "annotations",
    "nodeSelector",
    "matchLabels",
    "volumeAttributes",
];

/// Maps of quantities.
const QUANTITY_MAPS: [&str; 5] = ["limits", "requests", "overhead", "podFixed", "minResources"];

/// Single quantities.
const QUANTITIES: [&str; 2] = ["sizeLimit", "divisor"];

/// Reports whether a field is a map from the users' own keys to texts.
pub fn is_text_map(field: &str) -> bool {
    TEXT_MAPS.contains(&field)
}

/// Reports whether a field is a map from resource names to quantities.
pub fn is_quantity_map(field: &str) -> bool {
    QUANTITY_MAPS.contains(&field)
}

/// Reports whether the member `field` of `parent` is a quantity.
pub fn is_quantity(parent: &str, field: &str) -> bool {
    is_quantity_map(parent) || QUANTITIES.contains(&field) && !is_text_map(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_own_keys_are_never_quantities() {
        assert!(is_quantity("limits", "example.com/gpu"));
        assert!(is_quantity("emptyDir", "sizeLimit"));
        assert!(!is_quantity("annotations", "sizeLimit"));
        assert!(!is_quantity("metadata", "limits"));
    }
}
