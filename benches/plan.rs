//! How long the decision takes: one `plan()` for jobs of 1 to 1,000 nodes, with and without the trace of `explain`.

#![allow(clippy::expect_used, reason = "a benchmark that cannot be set up ends")]
#![allow(
    missing_docs,
    reason = "criterion's macros make public functions without documentation"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use serde_json::json;
use trainer::api::{ClusterTrainingRuntime, TrainJob};
use trainer::plan::{self, ClusterFacts, Config, Inputs, Observed, Runtime};

fn runtime() -> Runtime {
    let runtime: ClusterTrainingRuntime = serde_json::from_value(json!({
        "metadata": {"name": "torch-distributed", "uid": "1"},
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {}},
            "template": {"spec": {"replicatedJobs": [{
                "name": "node",
                "replicas": 1,
                "groupName": "default",
                "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"template": {"spec": {"containers": [{
                        "name": "node",
                        "image": "registry.example.com/torch:1",
                        "resources": {"limits": {"nvidia.com/gpu": "8"}},
                    }]}}},
                },
            }]}},
        },
    }))
    .expect("the runtime of the benchmark");
    runtime.into()
}

fn job(nodes: u32) -> TrainJob {
    serde_json::from_value(json!({
        "metadata": {"name": "bench", "namespace": "default", "uid": "2"},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {
                "numNodes": nodes,
                "command": ["torchrun", "train.py"],
                "env": [{"name": "NCCL_DEBUG", "value": "INFO"}],
                "resourcesPerNode": {"requests": {"cpu": "32", "memory": "512Gi"}},
            },
            "runtimePatches": [{
                "manager": "kueue.x-k8s.io/manager",
                "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{
                    "name": "node",
                    "template": {"spec": {"template": {
                        "metadata": {"labels": {"kueue.x-k8s.io/podset": "node"}},
                        "spec": {"nodeSelector": {"pool": "h100"}},
                    }}},
                }]}}},
            }],
        },
    }))
    .expect("the job of the benchmark")
}

fn benches(c: &mut Criterion) {
    let (runtime, config, facts) = (Arc::new(runtime()), Config::default(), ClusterFacts::default());
    let mut group = c.benchmark_group("plan");
    for nodes in [1, 10, 100, 1_000] {
        let job = job(nodes);
        let inputs = Inputs {
            job: &job,
            runtime: Some(Arc::clone(&runtime)),
            config: &config,
            observed: Observed::default(),
        };
        assert!(
            plan::plan(inputs.clone(), &facts).is_ok(),
            "the job of the benchmark can be built"
        );
        group.bench_with_input(BenchmarkId::new("nodes", nodes), &inputs, |b, inputs| {
            b.iter(|| black_box(plan::plan(black_box(inputs.clone()), &facts)));
        });
    }
    let job = job(8);
    let inputs = Inputs {
        job: &job,
        runtime: Some(Arc::clone(&runtime)),
        config: &config,
        observed: Observed::default(),
    };
    group.bench_function("explain", |b| {
        b.iter(|| black_box(plan::explain(black_box(inputs.clone()), &facts)));
    });
    group.finish();
}

criterion_group!(plan_benches, benches);
criterion_main!(plan_benches);
