//! Any JSON is validated without a panic: pruning leaves no unknown field, and defaults are set once.

use proptest::prelude::*;
use serde_json::{Map, Value};
use trainer::schema;

/// Names that lead into the schemas, so that random objects meet rules.
const NAMES: [&str; 22] = [
    "metadata",
    "name",
    "labels",
    "annotations",
    "spec",
    "runtimeRef",
    "trainer",
    "env",
    "value",
    "args",
    "numNodes",
    "resourcesPerNode",
    "limits",
    "initializer",
    "dataset",
    "storageUri",
    "runtimePatches",
    "manager",
    "mlPolicy",
    "torch",
    "template",
    "status",
];

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        let name =
            prop_oneof![4 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned), 1 => ".{0,8}"];
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name, inner), 0..6)
                .prop_map(|pairs| Value::from(Map::from_iter(pairs))),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_validated(mut object in json(), old in json()) {
        for kind in ["TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"] {
            let schema = schema::of(kind).expect("the kind is ours");
            schema.unknown_fields(&object);
            schema.validate(&object, None);
            schema.validate(&object, Some(&old));
            schema.prune(&mut object);
            prop_assert!(schema.unknown_fields(&object).is_empty());
            schema.set_defaults(&mut object);
            let once = object.clone();
            schema.set_defaults(&mut object);
            prop_assert_eq!(&object, &once);
        }
    }
}
