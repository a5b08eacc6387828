package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/engine/compile"
	"deployer/engine/lang"
	"deployer/engine/program"
	"deployer/tasks"
	"deployer/test/fleet"
)

func TestPlaybook(t *testing.T) {
	all := func(string) ([]string, error) { return []string{"n0001"}, nil }
	library := compile.Compiler{Registry: engine.NewRegistry(tasks.Modules()), Match: all}
	for _, want := range []int{1, 10, 95, 300} {
		dir := t.TempDir()
		if err := writePlaybook(dir, want); err != nil {
			t.Fatal(err)
		}
		prog, err := library.Compile(lang.Tree{Name: "site", FS: os.DirFS(dir)}, "site.yaml")
		if err != nil {
			t.Fatalf("%d tasks: %v", want, err)
		}
		tasks, barriers := 0, 0
		for _, op := range prog.Ops {
			switch op.Kind {
			case program.OpTask:
				tasks++
			case program.OpBarrier:
				barriers++
			}
		}
		if tasks != want || barriers != want/100 {
			t.Errorf("%d tasks and %d barriers, want %d and %d", tasks, barriers, want, want/100)
		}
	}
}

func TestCheck(t *testing.T) {
	host := engine.HostReport{Host: "n0001", OK: 7, Changed: 2, Skipped: 1}
	idle := engine.HostReport{Host: "n0001", OK: 9, Skipped: 1}
	broken := host
	broken.Failure = &engine.Failure{Message: "no"}
	of := func(h engine.HostReport) run {
		return run{report: &engine.Report{Hosts: []engine.HostReport{h}}, figures: figures{Traffic: fleet.Traffic{Connections: 1}, Busy: 3}}
	}
	twice, crowded := of(host), of(host)
	twice.Connections, crowded.Busy = 2, 4
	for name, c := range map[string]struct {
		run  run
		want expected
		err  string
	}{
		"changed":       {of(host), expected{1, true}, ""},
		"idle":          {of(idle), expected{1, false}, ""},
		"not idle":      {of(host), expected{1, false}, "changed steps"},
		"not changed":   {of(idle), expected{1, true}, "changed steps"},
		"another host":  {of(host), expected{2, true}, "1 hosts were in the run, want 2"},
		"failed":        {of(broken), expected{1, true}, "ended 10 of 10 steps"},
		"steps missing": {of(engine.HostReport{Host: "n0001", Changed: 9}), expected{1, true}, "ended 9 of 10 steps"},
		"lost once":     {twice, expected{1, true}, "2 connections were made"},
		"forks":         {crowded, expected{1, true}, "4 hosts were worked on at once, allowed are 3"},
	} {
		err := c.want.check(c.run, 10, 3)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %v, want %q", name, err, c.err)
		}
	}
}

func TestClosing(t *testing.T) {
	s := size{hosts: 1000,
		first:  run{wall: 41234 * time.Millisecond, cpu: 30 * time.Second, rss: 309_700_000, figures: figures{Traffic: fleet.Traffic{Received: 12_340_000}, Busy: 50}},
		second: run{wall: 20 * time.Second, rss: 200_000_000, figures: figures{Busy: 49}},
		one:    run{wall: 2140 * time.Millisecond},
	}
	want := "fleet hosts=1000 wall_s=41.2 rss_mb=310 one_host_s=2.1 second_s=20.0 cpu_s=30.0 sent_mb=12.3 busy=50"
	if got := s.summaryLine(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
