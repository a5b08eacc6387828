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

// profile writes profiles of this process to a directory until the returned function
// is called: cpu.pprof; heap.pprof, goroutine.pprof and memory.txt from the time of the
// largest heap; and allocs.pprof of all allocations. profile ignores errors of the files.
func profile(dir string) (stop func()) {
	if dir == "" || os.MkdirAll(dir, 0o755) != nil {
		return func() {}
	}
	cpu, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return func() {}
	}
	_ = pprof.StartCPUProfile(cpu)
	done := make(chan struct{})
	go watchHeap(dir, done)
	return func() {
		pprof.StopCPUProfile()
		_ = cpu.Close()
		close(done)
		runtime.GC()
		writeProfile(dir, "allocs")
	}
}

// watchHeap writes a heap profile whenever the live heap has grown by 10 %.
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

// writeMemory writes the memory classes of the runtime and the number of goroutines.
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
