//! torchtune: its recipe and configuration are chosen from the model, the devices and the kind of fine-tuning.
//!
//! Source of the rules: torchtune ships one configuration for each model and recipe, and its multi-node one is for full
//! fine-tuning only. The model is read from the runtime's name.

use serde_json::Value;

use super::names::{MASTER_ADDR, MASTER_PORT};
use super::processes::{AUTO, Processes};
use crate::api::{TrainJob, names};
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::injection::{Command, ContainerInjection};
use crate::plan::nodes::Nodes;

/// What a job's command is when torchtune is to be run.
const COMMAND: [&str; 2] = ["tune", "run"];
/// Options of the runtime's command that are kept; a job must not set them.
const MANAGED: [&str; 4] = [
    "output_dir",
    "tokenizer.path",
    "checkpointer.checkpoint_dir",
    "tokenizer.merges_file",
];
const MODELS: [&str; 4] = [LLAMA_1B, LLAMA_3B, LLAMA_70B, QWEN];
const LLAMA_1B: &str = "llama3_2/1B";
const LLAMA_3B: &str = "llama3_2/3B";
const LLAMA_70B: &str = "llama3_3/70B";
const QWEN: &str = "qwen2_5/1.5B";

/// Tells whether a job runs torchtune.
pub(super) fn is_called(job: &TrainJob) -> bool {
    job.command().is_some_and(|command| command == COMMAND)
}

/// How the weights are tuned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tuning {
    Full,
    Lora,
    Qlora,
}

impl Tuning {
    fn of(args: &[String]) -> Self {
        let option = |wanted: &str, value: &str| {
            args.iter()
                .filter_map(|arg| arg.split_once('='))
                .any(|(key, found)| key.contains(wanted) && found.eq_ignore_ascii_case(value))
        };
        if option("model.quantize_base", "true") && !option("model.use_dora", "true") {
            Self::Qlora
        } else if args.iter().any(|arg| arg.contains("model.lora_attn_modules")) {
            Self::Lora
        } else {
            Self::Full
        }
    }
}

/// What a job comes to: all that recipe and configuration depend on.
struct Case {
    model: String,
    nodes: i64,
    /// Whether one device does all the work.
    single: bool,
    /// Whether there are several processes that must meet.
    meets: bool,
    tuning: Tuning,
}

impl Case {
    fn of(draft: &Draft<'_>, nodes: &Nodes, processes: &Processes) -> Self {
        let devices = draft.devices(nodes.container).processes();
        let count = nodes.rjob.count;
        let several = if processes.text == AUTO {
            devices.unwrap_or(0) > 1
        } else {
            processes.text != "1"
        };
        Self {
            model: model(&draft.job.spec.runtime_ref.name),
            nodes: count,
            single: count == 1 && (processes.text == "1" || devices == Some(1)),
            meets: count > 1 || several,
            tuning: Tuning::of(draft.job.args().unwrap_or_default()),
        }
    }

    fn recipe(&self) -> &'static str {
        match (self.nodes > 1, self.single, self.tuning) {
            (true, ..) | (false, false, Tuning::Full) => "full_finetune_distributed",
            (false, true, Tuning::Full) => "full_finetune_single_device",
            (false, true, _) => "lora_finetune_single_device",
            (false, false, _) => "lora_finetune_distributed",
        }
    }

    fn config(&self) -> String {
        let suffix = match (self.nodes > 1, self.single, self.tuning) {
            (true, ..) => "_full_multinode",
            (false, true, Tuning::Full) => "_full_single_device",
            (false, true, Tuning::Lora) => "_lora_single_device",
            (false, true, Tuning::Qlora) => "_qlora_single_device",
            (false, false, Tuning::Full) => "_full",
            (false, false, Tuning::Lora) => "_lora",
            (false, false, Tuning::Qlora) => "_qlora",
        };
        format!("{}{suffix}", self.model)
    }
}

/// Reads the model from the name of a runtime: `torchtune-llama3.2-1b` is `llama3_2/1B`.
fn model(runtime: &str) -> String {
    match runtime.split('-').collect::<Vec<_>>().as_slice() {
        [_, family, size] => format!("{}/{}", family.replace('.', "_"), size.to_uppercase()),
        _ => String::new(),
    }
}

/// Turns what torchrun would get into what torchtune needs, and refuses models, kinds of tuning and arguments that it cannot
/// run with.
pub(super) fn adapt(
    node: &mut ContainerInjection,
    draft: &Draft<'_>,
    nodes: &Nodes,
    processes: &Processes,
    problems: &mut Problems,
) {
    let case = Case::of(draft, nodes, processes);
    check_model(draft, &case, problems);
    check_tuning(&case, problems);
    for (at, arg) in draft.job.args().unwrap_or_default().iter().enumerate() {
        if is_managed(arg) {
            let message = format!("{arg:?}: the runtime sets this for torchtune; remove it");
            let field = FieldPath::new("spec.trainer.args").index(at);
            problems.push(Problem::invalid(field, message));
        }
    }
    // torchtune gets by its command where the nodes meet.
    node.env
        .retain(|variable| ![MASTER_ADDR, MASTER_PORT].contains(&variable.name()));
    let why = "recipe and configuration of torchtune for this model, number of devices and kind of tuning; options from \
               the runtime's command";
    node.command = Some((Command::Replace(command(draft, nodes, &case)), why));
}

fn command(draft: &Draft<'_>, nodes: &Nodes, case: &Case) -> Vec<String> {
    let mut command: Vec<String> = COMMAND.map(str::to_owned).to_vec();
    if case.meets {
        let host = nodes.first_host(draft);
        command.push(format!("--rdzv_endpoint={host}:{}", names::TRAINER_PORT));
    }
    command.extend([case.recipe().to_owned(), "--config".to_owned(), case.config()]);
    let runtime = draft.runtime_spec(nodes.rjob.index);
    let words = runtime
        .container(names::NODE)
        .map_or(&[][..], |node| k8s_json::list(node, &["command"]));
    let options = words
        .iter()
        .filter_map(Value::as_str)
        .filter(|word| is_managed(word));
    command.extend(options.map(str::to_owned));
    command
}

fn is_managed(word: &str) -> bool {
    MANAGED.contains(&word.split_once('=').map_or(word, |(key, _)| key))
}

fn check_model(draft: &Draft<'_>, case: &Case, problems: &mut Problems) {
    if !MODELS.contains(&case.model.as_str()) {
        let message = format!(
            "{:?} names no model that torchtune has a configuration for; use a runtime named \
             torchtune-<model>-<size> for one of {}",
            draft.job.spec.runtime_ref.name,
            MODELS.join(", ")
        );
        problems.push(Problem::invalid("spec.runtimeRef.name", message));
    }
    if case.tuning == Tuning::Qlora && case.model == QWEN {
        let message = format!("torchtune has no QLoRA configuration for {QWEN}; use LoRA or another model");
        problems.push(Problem::invalid("spec.runtimeRef.name", message));
    }
}

fn check_tuning(case: &Case, problems: &mut Problems) {
    const NODES: &str = "spec.trainer.numNodes";
    if case.nodes > 1 && case.model != LLAMA_70B {
        let message = format!(
            "{} nodes: torchtune has a configuration for several nodes for {LLAMA_70B} only; use 1",
            case.nodes
        );
        problems.push(Problem::invalid(NODES, message));
    }
    if case.nodes > 1 && case.tuning != Tuning::Full {
        let message = format!(
            "{} nodes: torchtune fine-tunes all weights on several nodes; use 1, or leave LoRA and QLoRA out of args",
            case.nodes
        );
        problems.push(Problem::invalid(NODES, message));
    }
    let on_one_device_only = [LLAMA_1B, LLAMA_3B].contains(&case.model.as_str());
    if case.tuning == Tuning::Qlora && on_one_device_only && !case.single {
        let message = format!("torchtune tunes {} with QLoRA on one device only", case.model);
        for (field, fix) in [
            ("numProcPerNode", "use 1"),
            ("resourcesPerNode", "ask for one GPU"),
        ] {
            let field = format!("spec.trainer.{field}");
            problems.push(Problem::invalid(field, format!("{message}; {fix}")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_is_read_from_the_name_of_the_runtime() {
        for (name, wanted) in [
            ("torchtune-llama3.2-1b", "llama3_2/1B"),
            ("torchtune-qwen2.5-1.5b", "qwen2_5/1.5B"),
            ("torchtune-llama", ""),
            ("my-torchtune-llama3.2-1b", ""),
        ] {
            assert_eq!(model(name), wanted, "{name}");
        }
    }

    #[test]
    fn the_kind_of_tuning_is_read_from_the_arguments() {
        let of = |args: &[&str]| Tuning::of(&args.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>());
        assert!(of(&["epochs=1"]) == Tuning::Full);
        assert!(of(&["model.lora_attn_modules=[q_proj]"]) == Tuning::Lora);
        assert!(of(&["model.quantize_base=True"]) == Tuning::Qlora);
        assert!(
            of(&[
                "model.quantize_base=True",
                "model.use_dora=true",
                "model.lora_attn_modules=[]"
            ]) == Tuning::Lora
        );
    }

    #[test]
    fn options_of_the_runtime_are_told_by_what_stands_before_the_first_equals_sign() {
        assert!(is_managed("output_dir=/x=y"));
        assert!(!is_managed("dataset.output_dir=/x"));
    }
}
