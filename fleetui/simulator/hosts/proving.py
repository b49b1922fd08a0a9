"""How a daemon proves: requests, partitions, synthesis, GPU work (facts: cuzk.md section 1)."""

from typing import Any

from fleetui.simulator.hosts.daemon_loading import SUMMARY, Loading
from fleetui.simulator.hosts.daemon_state import (
    PARTITIONS,
    PCE_BYTES,
    PCE_PATH,
    Job,
    Outcome,
    Partition,
    Span,
    Worker,
)
from fleetui.simulator.hosts.engine import Script, Signal
from fleetui.simulator.hosts.parameters import C1_BYTES


class Proving(Loading):
    """A daemon that answers requests."""

    def prove(self, job_id: str) -> Signal:
        """Ask for a PoRep proof; the signal fires with an Outcome."""
        done = Signal()
        if not self.alive or not self.ready.fired:
            done.fire(Outcome("lost", job_id))
            return done
        self._pending[job_id] = done
        self._tasks = [task for task in self._tasks if not task.done]
        self._tasks.append(self.machine.engine.start(self._job(job_id, done)))
        return done

    def _finish(self, outcome: Outcome) -> None:
        signal = self._pending.pop(outcome.job_id, None)
        if signal is not None:
            signal.fire(outcome)

    def _job(self, job_id: str, done: Signal) -> Script:
        del done
        engine, core, scheduler = self.machine.engine, "cuzk_core::engine", "cuzk_core::scheduler"
        asked = engine.now
        self._say(
            "cuzk_server::service", "Prove", request_id=job_id, proof_kind=1, input_size=C1_BYTES
        )
        self._say(
            scheduler,
            "job enqueued",
            job_id=job_id,
            proof_kind="porep-c2",
            priority="Normal",
            queue_position=0,
        )
        self._say(scheduler, "job dequeued for proving", job_id=job_id, proof_kind="porep-c2")
        span = ("synth_single", (("proof_kind", "porep-c2"),))
        self._say(
            core, "processing batch", batch_size=1, proof_kind="porep-c2", slot_size=0, span_=span
        )
        if not self._loading:
            yield 0.9
            yield from self._load_srs()
        elif not self._loaded.fired:
            yield self._loaded
        yield self._vary(1.5)
        fault = "failed to parse C1 output wrapper JSON" if self.options.broken_input else ""
        if not fault and not self._loaded.value:
            fault = f"C1 parse failed: {self._srs_error()}"
        if fault:
            self._say(
                core, "Phase 7: C1 parse/SRS load failed", error=fault, level_="ERROR", span_=span
            )
            self._say("cuzk_server::service", "prove failed", error=fault, level_="ERROR")
            self._finish(Outcome("failed", job_id, fault))
            return
        queue_ms = int((engine.now - asked) * 1000)
        job = Job(job_id, engine.now, [Partition(index) for index in range(PARTITIONS)])
        self._jobs[job_id] = job
        if self.options.era == "O":
            self._say(
                core,
                "Phase 7: dispatching per-partition synthesis",
                job_id=job_id,
                num_partitions=PARTITIONS,
                partition_workers=self.options.workers,
                span_=span,
            )
        else:
            self._say(
                core,
                "dispatching per-partition synthesis (budget-gated)",
                job_id=job_id,
                num_partitions=PARTITIONS,
                budget_available_gib=self._budget_left(),
                span_=span,
            )
        if not self._pce and not self._extracting:
            self._extracting = True
            self._tasks.append(engine.start(self._extract()))
        if self.options.era == "N":
            self._say(
                core,
                "assigned pipeline sequence number",
                job_id=job_id,
                job_seq=self._sequence,
                span_=span,
            )
            self._sequence += 1
        if self.options.death:
            self._tasks.append(engine.start(self._die()))
        for partition in job.partitions:
            self._tasks.append(engine.start(self._partition(job, partition)))
        yield job.left
        yield from self._assemble(job, queue_ms)

    def _die(self) -> Script:
        yield self.options.death_after
        if self.options.death == "vram":
            return
        if self.options.death == "oom":
            self.machine.oom_kills += 1
        self.machine.end(self.process, 137)

    def _assemble(self, job: Job, queue_ms: int) -> Script:
        core, prover, job_id = "cuzk_core::engine", "cuzk_core::prover", job.job_id
        total = int((self.machine.engine.now - job.started) * 1000)
        synth = sum(partition.synth_ms or 0 for partition in job.partitions)
        gpu = sum(partition.gpu_ms or 0 for partition in job.partitions)
        self._say(
            core,
            "Phase 7: all partitions complete, proof assembled",
            job_id=job_id,
            proof_len=1920,
            total_ms=total,
            synth_ms=synth,
            gpu_ms=gpu,
        )
        yield 0.63
        span = ("verify_porep_proof", (("job_id", f'"{job_id}"'),))
        self._say(prover, "PoRep proof self-check PASSED", job_id=f'"{job_id}"', span_=span)
        self._say(core, "Phase 7: PoRep proof self-check PASSED", job_id=job_id)
        job.finished = self.machine.engine.now
        self.completed += 1
        self._finish(Outcome("ok", job_id, "", total + queue_ms, queue_ms, synth, gpu))
        self.machine.engine.schedule(30.0, lambda: self._forget(job_id))

    def _forget(self, job_id: str) -> None:
        self._jobs.pop(job_id, None)

    def _extract(self) -> Script:
        core, pipeline = "cuzk_core::engine", "cuzk_core::pipeline"
        self._say(core, "background PCE extraction starting for PoRep 32G")
        seconds = self._vary(70.0) / self.machine.hardware.speed
        self._grow(14)
        yield seconds
        self._say(
            pipeline,
            "PCE extraction complete",
            circuit_id="porep-32g",
            extract_ms=int(seconds * 1000),
            summary=SUMMARY,
        )
        self._grow(12)
        self.machine.files.sized(PCE_PATH + ".tmp", PCE_BYTES // 2)
        seconds = self._vary(31.0)
        yield seconds
        self.machine.files.remove(PCE_PATH + ".tmp")
        self.machine.keep(PCE_PATH, PCE_BYTES)
        self._say(
            "cuzk_pce::disk",
            "PCE saved to disk (raw format)",
            path=PCE_PATH,
            file_size_gib='"25.7"',
            duration_ms=int(seconds * 1000),
            write_speed_gbs=f'"{27.6 / seconds:.1f}"',
        )
        if self.options.era == "O":
            self._say(
                pipeline,
                "PCE saved to disk for future daemon starts",
                circuit_id="porep-32g",
                path=PCE_PATH,
            )
        else:
            self._say(pipeline, "PCE saved to disk", circuit_id="porep-32g", path=PCE_PATH)
            self._say(
                pipeline, "PCE cached", circuit_id="porep-32g", size_gib=25, budget_used_gib=69
            )
        self._pce = True
        self._say(core, "background PCE extraction complete")

    def _partition(self, job: Job, partition: Partition) -> Script:
        engine, core, pipeline = self.machine.engine, "cuzk_core::engine", "cuzk_core::pipeline"
        job_id, index = job.job_id, partition.index
        yield self._synths.take()
        yield self._vary(0.004, 0.9)
        started = engine.now
        partition.state, partition.since = "synthesizing", started
        self._grow(13)
        self.process.state = "Rl"
        self._timeline("SYNTH_START", job_id, f"partition={index}")
        yield 0.31
        span = ("synthesize_partition", (("job_id", f'"{job_id}"'), ("partition", index)))
        fast = self._pce and self.options.era == "O"
        self._synthesis_begins(span, fast=fast)
        seconds = self._vary(42.0 if fast else 60.0, 0.12) / self.machine.hardware.speed
        yield seconds
        self._synthesis_ends(span, seconds, fast=fast)
        yield 0.4
        synth_ms = int((engine.now - started) * 1000)
        pinned: dict[str, Any] = {"is_pinned": "false"} if self.options.era == "N" else {}
        self._say(
            pipeline,
            "partition synthesis complete",
            partition=index,
            synth_ms=synth_ms,
            **pinned,
            span_=span,
        )
        self._timeline("SYNTH_END", job_id, f"partition={index},synth_ms={synth_ms}")
        ending = "sending to GPU" if self.options.era == "O" else "pushing to GPU queue"
        self._say(
            core,
            f"partition synthesis complete, {ending}",
            job_id=job_id,
            partition=index,
            synth_ms=synth_ms,
        )
        self._timeline(
            "CHAN_SEND" if self.options.era == "O" else "GPU_QUEUE", job_id, f"partition={index}"
        )
        partition.state, partition.synth_ms, partition.since = "synth_done", synth_ms, engine.now
        self._synths.give()
        while not self._idle:
            turn = Signal()
            self._waiting.append(turn)
            yield turn
        worker = self._idle.pop(0)
        yield from self._gpu(job, partition, worker)
        self._idle.append(worker)
        if self._waiting:
            self._waiting.pop(0).fire()
        if all(other.state == "done" for other in job.partitions):
            job.left.fire()

    def _synthesis_begins(self, span: Span, *, fast: bool) -> None:
        pipeline, circuit = "cuzk_core::pipeline", "porep-32g"
        if fast:
            path = "using PCE fast path for synthesis"
            self._say(pipeline, path, circuit_id=circuit, span_=span)
            return
        path = "using standard synthesis path (synthesize_with_hint)"
        self._say(pipeline, path, circuit_id=circuit, span_=span)
        hint = "no capacity hint cached — first synthesis will grow organically"
        if self._hint:
            hint = "using cached capacity hint for synthesis"
        self._say(pipeline, hint, circuit_id=circuit, span_=span)

    def _synthesis_ends(self, span: Span, seconds: float, *, fast: bool) -> None:
        pipeline, circuit = "cuzk_core::pipeline", "porep-32g"
        total = int(seconds * 1000)
        if fast:
            witness = int(seconds * 720)
            done = "PCE witness generation complete (WitnessCS)"
            self._say(
                pipeline, done, circuit_id=circuit, witness_ms=witness, num_circuits=1, span_=span
            )
            done = "PCE synthesis complete (witness + eval)"
            self._say(
                pipeline,
                done,
                circuit_id=circuit,
                total_pce_ms=total,
                witness_ms=witness,
                eval_ms=total - witness,
                span_=span,
            )
            return
        prover = "bellperson::groth16::prover::supraseal"
        self._say(prover, f"synthesis time: {seconds:.9f}s", span_=span)
        self._say(prover, "starting proof timer", span_=span)
        if not self._hint:
            self._hint = True
            self._say(
                pipeline,
                "cached synthesis capacity hint",
                circuit_id=circuit,
                num_constraints=130278869,
                num_aux=130169893,
                num_inputs=328,
                span_=span,
            )

    def _gpu(self, job: Job, partition: Partition, worker: Worker) -> Script:
        engine, core, job_id, index = (
            self.machine.engine,
            "cuzk_core::engine",
            job.job_id,
            partition.index,
        )
        started = engine.now
        worker.job, worker.partition, worker.since = job_id, index, started
        partition.state, partition.since = "gpu", started
        detail = f"worker={worker.worker_id},partition={index}"
        self._timeline("GPU_PICKUP", job_id, detail)
        span = (
            "gpu_worker",
            (
                ("worker_id", worker.worker_id),
                ("gpu", worker.gpu),
                ("job_id", job_id),
                ("proof_kind", "porep-c2"),
                ("batch_size", 1),
                ("partition", f"Some({index})"),
            ),
        )
        if self.options.era == "O":
            self._say(
                core,
                "GPU worker picked up synthesized proof",
                batched="false",
                partitioned="true",
                partition=f"Some({index})",
                span_=span,
            )
        else:
            self._say(
                core,
                "GPU_TIMING hot_path pre-prove overhead",
                worker_id=worker.worker_id,
                partition=f"Some({index})",
                status_ms=0,
                fail_check_ms=0,
                mark_busy_ms=0,
                total_overhead_ms=0,
                span_=span,
            )
        self._timeline("GPU_START", job_id, detail)
        random = self.machine.random
        self._raw(
            f"CUZK_TIMING: split_vectors_ms={random.randint(60, 120)} setup_to_split_ms={random.randint(60, 120)}\n"  # noqa: E501 - a line as it is printed
        )
        yield self._locks[worker.gpu].take()
        gpu = self.machine.gpus[worker.gpu]
        gpu.busy += 1
        gpu.memory_used_mib = min(gpu.memory_mib - 900, 13_800)
        if self.options.death == "vram":
            yield 1.2
            yield from self._out_of_memory(job, partition, worker)
            return
        kernel = self._vary(5.7, 0.05) / self.machine.hardware.speed
        ntt = int(kernel * 440)
        yield kernel * 0.45
        self._raw(
            f"CUZK_NTT_H: d_b_alloc=0ms ntt_kernels={ntt * 42 // 100}ms coset_intt_sync={ntt // 20}ms msm_init={ntt // 50}ms "  # noqa: E501 - a line as it is printed
            f"msm_invoke={ntt * 49 // 100}ms msm_dtor={ntt // 50}ms total={ntt}ms\nCUZK_TIMING: gpu_tid=0 ntt_msm_h_ms={ntt + 3}\n"  # noqa: E501 - a line as it is printed
        )
        yield kernel * 0.55
        self._raw(
            f"CUZK_TIMING: gpu_tid=0 batch_add_ms={int(kernel * 310)}\n"
            f"CUZK_TIMING: gpu_tid=0 tail_msm_ms={int(kernel * 230)} gpu_total_ms={int(kernel * 1000)}\n"  # noqa: E501 - a line as it is printed
        )
        gpu.busy = max(0, gpu.busy - 1)
        self._locks[worker.gpu].give()
        tail = self._vary(1.4, 0.2)
        yield tail
        self._raw(f"CUZK_TIMING: b_g2_msm_ms={int(tail * 1000)} num_circuits=1\n")
        gpu_ms = int((engine.now - started) * 1000)
        self._say(
            "cuzk_core::pipeline",
            "GPU prove complete (split)",
            proof_count=1,
            proof_bytes=192,
            gpu_ms=gpu_ms,
        )
        self._timeline("GPU_END", job_id, f"{detail},gpu_ms={gpu_ms}")
        self._say(
            core,
            "partition GPU prove complete",
            job_id=job_id,
            partition=index,
            gpu_ms=gpu_ms,
            filled=0,
        )
        self._raw(f"CUZK_TIMING: async_dealloc_ms={random.randint(180, 420)}\n")
        partition.state, partition.gpu_ms = "done", gpu_ms
        self.process.rss_kib = max(60 << 20, self.process.rss_kib - (13 << 20))
        worker.job = worker.partition = None

    def _out_of_memory(self, job: Job, partition: Partition, worker: Worker) -> Script:
        text = 'cudaGetLastError()@sppark-0.1.14/sppark/ntt/kernels/gs_mixed_radix_wide.cu:220 failed: "out of memory"'  # noqa: E501 - a line as it is printed
        self._raw(
            f"thread 'tokio-runtime-worker' panicked at supraseal-c2/src/lib.rs:316:9:\n{text}\n"
            "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n"
        )
        escaped = text.replace('"', '\\"')
        error = f'task 214 panicked with message "{escaped}"'
        self._say("cuzk_core::engine", "GPU prove start task panicked", error=error, level_="ERROR")
        self.machine.gpus[worker.gpu].busy = 0
        self._locks[worker.gpu].give()
        worker.job = worker.partition = None
        message = f"GPU prove start panicked: {error}"
        if job.job_id in self._pending:
            self._say("cuzk_server::service", "prove failed", error=message, level_="ERROR")
        self._finish(Outcome("failed", job.job_id, message))
        partition.state = "gpu"
        yield 0.0
