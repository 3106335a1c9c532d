//! Adds an item to a list of a container or Pod, or replaces the one that has the same key.

use serde_json::Value;

/// Replaces the item with the same `key` by `item`, or appends it.
pub fn by_key(items: &mut Vec<Value>, key: &str, item: Value) {
    let wanted = item.get(key);
    match items
        .iter()
        .position(|old| wanted.is_some() && old.get(key) == wanted)
    {
        Some(at) => items[at] = item,
        None => items.push(item),
    }
}

/// Adds a container port, unless it is there already. Two ports are the same if they have the same number and
/// protocol, or the same name.
pub fn port(ports: &mut Vec<Value>, port: Value) {
    let protocol = |p: &Value| {
        p.get("protocol")
            .and_then(Value::as_str)
            .unwrap_or("TCP")
            .to_owned()
    };
    let same = |old: &Value| {
        let number =
            old.get("containerPort") == port.get("containerPort") && protocol(old) == protocol(&port);
        let name = old.get("name").is_some() && old.get("name") == port.get("name");
        number || name
    };
    if !ports.iter().any(same) {
        ports.push(port);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_of_the_same_key_is_replaced_whole_and_in_place() {
        let mut env = vec![json!({"name": "A", "valueFrom": {"x": 1}}), json!({"name": "B"})];
        by_key(&mut env, "name", json!({"name": "A", "value": "1"}));
        by_key(&mut env, "name", json!({"name": "C"}));
        assert_eq!(
            env,
            [
                json!({"name": "A", "value": "1"}),
                json!({"name": "B"}),
                json!({"name": "C"})
            ]
        );
    }

    #[test]
    fn two_ports_without_names_are_two_ports() {
        let mut ports = vec![
            json!({"containerPort": 80}),
            json!({"containerPort": 29500, "protocol": "UDP"}),
        ];
        port(&mut ports, json!({"containerPort": 29500}));
        port(&mut ports, json!({"containerPort": 80, "protocol": "TCP"}));
        assert_eq!(ports.len(), 3);
        assert_eq!(ports[2], json!({"containerPort": 29500}));
    }

    #[test]
    fn a_port_that_is_there_keeps_its_name() {
        let mut ports = vec![json!({"containerPort": 29500, "name": "rdzv"})];
        port(&mut ports, json!({"containerPort": 29500}));
        assert_eq!(ports, [json!({"containerPort": 29500, "name": "rdzv"})]);
    }
}
