//! Files for the pods, which ConfigMaps hold.

/// Most bytes of a file: a ConfigMap can hold 1 MiB, its metadata included.
pub(super) const LARGEST: usize = 1_000_000;

/// Joins the lines of a file, or returns `None` as soon as they are larger than a ConfigMap can hold: what a user asks for
/// never sizes memory.
pub(super) fn bounded(lines: impl Iterator<Item = String>) -> Option<String> {
    let mut file = String::new();
    for line in lines {
        file.push_str(&line);
        if file.len() > LARGEST {
            return None;
        }
    }
    Some(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_not_made() {
        assert_eq!(
            bounded(["a\n", "b\n"].map(str::to_owned).into_iter()).as_deref(),
            Some("a\nb\n")
        );
        assert_eq!(
            bounded(std::iter::repeat_n("x".to_owned(), LARGEST)).map(|f| f.len()),
            Some(LARGEST)
        );
        assert_eq!(bounded(std::iter::repeat("endless".to_owned())), None);
    }
}
