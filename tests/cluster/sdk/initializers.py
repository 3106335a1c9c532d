"""Data and models that are brought in before a training starts."""

from kubeflow.trainer import (
    BuiltinTrainer,
    CustomTrainer,
    HuggingFaceDatasetInitializer,
    HuggingFaceModelInitializer,
    Initializer,
    LoraConfig,
    TorchTuneConfig,
)
from kubeflow.trainer.options import Name
from session import client, wait


def learn():
    with open("/workspace/dataset/line") as file:
        print("learning from", file.read())


digits = HuggingFaceDatasetInitializer(storage_uri="hf://ada/digits", ignore_patterns=["*.csv"])
name = client.train(runtime="with-data", initializer=Initializer(digits), trainer=CustomTrainer(func=learn))
job = wait(name)
found = {step.name: step.status for step in job.steps}
assert found == {"dataset-initializer": "Succeeded", "node-0": "Succeeded"}, found
brought = list(client.get_job_logs(name, step="dataset-initializer"))
assert brought == ["hf://ada/digits without *.csv"], brought
assert f"learning from {brought[0]}" in list(client.get_job_logs(name))
client.delete_job(name)

# The images of this one are not here: it is built, and waits.
client.train(
    runtime="torchtune-llama3.2-1b",
    initializer=Initializer(
        dataset=HuggingFaceDatasetInitializer(storage_uri="hf://ada/stories/part.json"),
        model=HuggingFaceModelInitializer(storage_uri="hf://meta-llama/Llama-3.2-1B-Instruct", access_token="secret"),
    ),
    trainer=BuiltinTrainer(TorchTuneConfig(epochs=2, peft_config=LoraConfig(lora_rank=8))),
    options=[Name("fine-tune")],
)
