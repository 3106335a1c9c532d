//! Turns a Rust struct into a Kubernetes object.

/// Implements the k8s-openapi traits, and serialisation with `apiVersion` and `kind`, for a struct with the fields
/// `metadata`, `spec` and the optional ones that are listed.
macro_rules! kubernetes_object {
    ($type:ident, $kind:literal, $plural:literal, $group:literal, $version:literal, $scope:ty, [$($field:ident),*]) => {
        impl k8s_openapi::Resource for $type {
            const API_VERSION: &'static str = concat!($group, "/", $version);
            const GROUP: &'static str = $group;
            const KIND: &'static str = $kind;
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = $scope;
        }

        impl k8s_openapi::Metadata for $type {
            type Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

            fn metadata(&self) -> &Self::Ty {
                &self.metadata
            }

            fn metadata_mut(&mut self) -> &mut Self::Ty {
                &mut self.metadata
            }
        }

        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("apiVersion", concat!($group, "/", $version))?;
                map.serialize_entry("kind", $kind)?;
                map.serialize_entry("metadata", &self.metadata)?;
                map.serialize_entry("spec", &self.spec)?;
                $(
                    if let Some(value) = &self.$field {
                        map.serialize_entry(stringify!($field), value)?;
                    }
                )*
                map.end()
            }
        }
    };
}

pub(crate) use kubernetes_object;
