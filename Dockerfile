# The controller's image: the program, and the C library that it needs. Both stages are Debian 12, for one glibc.
#
#   docker build -t REGISTRY/REPOSITORY:TAG .
FROM rust:1.95-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --release --locked --bin trainer

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /src/target/release/trainer /usr/local/bin/trainer
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/trainer"]
