package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strings"
	"time"
)

// profile writes profiles of this process to a directory until the returned
// function is called, for people who ask where the time and the memory of a run
// go: cpu.pprof; heap.pprof, goroutine.pprof and memory.txt of when it held the
// most; and allocs.pprof of all that it ever took. What cannot be written is left out: it is no part of a run.
func profile(dir string) (stop func()) {
	if dir == "" || os.MkdirAll(dir, 0o755) != nil {
		return func() {}
	}
	cpu, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return func() {}
	}
	_ = pprof.StartCPUProfile(cpu)
	over := make(chan struct{})
	go watchHeap(dir, over)
	return func() {
		pprof.StopCPUProfile()
		_ = cpu.Close()
		close(over)
		runtime.GC()
		writeProfile(dir, "allocs")
	}
}

// watchHeap writes a profile of the heap whenever it has grown by a tenth.
func watchHeap(dir string, over <-chan struct{}) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	for most := uint64(0); ; {
		select {
		case <-over:
			return
		case <-tick.C:
		}
		if metrics.Read(live); live[0].Value.Uint64() > most+most/10 {
			most = live[0].Value.Uint64()
			writeProfile(dir, "heap")
			writeProfile(dir, "goroutine")
			writeMemory(dir)
		}
	}
}

func writeProfile(dir, name string) {
	f, err := os.Create(filepath.Join(dir, name+".pprof"))
	if err != nil {
		return
	}
	defer f.Close()
	_ = pprof.Lookup(name).WriteTo(f, 0)
}

// writeMemory writes what the runtime has taken from the system, by use, and how
// many goroutines there are.
func writeMemory(dir string) {
	var all []metrics.Sample
	for _, d := range metrics.All() {
		if d.Kind == metrics.KindUint64 && (strings.HasPrefix(d.Name, "/memory/classes/") || d.Name == "/sched/goroutines:goroutines") {
			all = append(all, metrics.Sample{Name: d.Name})
		}
	}
	metrics.Read(all)
	var out strings.Builder
	for _, m := range all {
		fmt.Fprintf(&out, "%12d %s\n", m.Value.Uint64(), m.Name)
	}
	_ = os.WriteFile(filepath.Join(dir, "memory.txt"), []byte(out.String()), 0o644)
}
