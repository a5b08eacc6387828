package main

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/scale.md and its plots anew")

// TestPageIsOfTheResults verifies that docs/scale.md and its plots are those of results.json.
func TestPageIsOfTheResults(t *testing.T) {
	r, err := readResults("results.json")
	if err != nil {
		t.Fatal(err)
	}
	const docs = "../../docs"
	if *update {
		if err := publish(r, docs); err != nil {
			t.Fatal(err)
		}
	}
	files, err := rendered(r)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(docs, name))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s (-want +got; go test ./test/scale -run TestPage -update rewrites it):\n%s", name, diff)
		}
	}
}

func TestClosingLines(t *testing.T) {
	r := &results{Runs: []runInfo{{Nodes: 1000, Pods: 10000, Stages: []string{"proxy"}}, {Nodes: 1000, Pods: 5, Stages: []string{"rack"}}}, Install: []installRow{{Hosts: 1000, Wall: 60.55, RSS: 300, Sent: 174.2}}}
	r.addProxy([]proxyRow{
		{Proxy: "haproxy", Timeout: "10m", Checks: 1, Nodes: 1000, P99: 31.4, Processors: parts{API: 0.31}},
		{Proxy: "haproxy", Timeout: "10m", Checks: 1000, Nodes: 1000, Processors: parts{API: 9}},
		{Proxy: "haproxy", Timeout: "3s", Checks: 1, Nodes: 1000, Processors: parts{API: 1.5}},
	})
	r.addProxy([]proxyRow{{Proxy: "haproxy", Timeout: "3s", Checks: 1, Nodes: 100, Processors: parts{API: 0.2}}})
	for _, nodes := range []int{1000, 20} {
		r.addKeeper(&keeperResult{Nodes: nodes, Dead: 30, ClearMax: 14.6, PurgeMax: 450, Idle: []keeperLoad{{Processors: 0.0021, Calls: 17.6}}, Acting: []keeperLoad{{MaxRSS: 44}, {MaxRSS: 46.2}}})
	}
	got := closingLines(r)
	want := []string{"scale nodes=1000 pods=10000 api_p99_ms=31 proxy3s_cpu=150 proxy10m_cpu=31", "keeper nodes=1000 dead=30 clear_max_s=15 purge_max_s=450 rss_mb=46 cpu=0.21 calls_per_min=18", "install1000 wall_s=60.5 rss_mb=300 sent_mb=174"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if r.Proxy[0].Nodes != 100 {
		t.Error("rows are not in the order of the nodes")
	}
	r.addProxy([]proxyRow{{Nodes: 1000}})
	if len(r.Proxy) != 2 {
		t.Errorf("%d rows, want 2: new ones replace those of as many nodes", len(r.Proxy))
	}
}

func TestReadFleet(t *testing.T) {
	const output = `300 steps on each host, round trips of 20ms; 2026-11-28, 2 processors
fleet hosts=10 wall_s=1.5 rss_mb=60 one_host_s=0.5 second_s=0.7 cpu_s=0.4 sent_mb=2.0 busy=10
fleet hosts=1000 wall_s=60.5 rss_mb=300 one_host_s=0.8 second_s=25.7 cpu_s=34.7 sent_mb=174.0 busy=50
`
	rows, machine, err := readFleet(strings.NewReader(output))
	if err != nil || machine != "2026-11-28, 2 processors" || len(rows) != 2 || rows[1] != (installRow{Hosts: 1000, Wall: 60.5, RSS: 300, Sent: 174, Second: 25.7, OneHost: 0.8, CPU: 34.7}) {
		t.Errorf("got %+v, %q, %v", rows, machine, err)
	}
	for _, bad := range []string{"", "fleet hosts=10 wall_s=1.5\n", "fleet hosts=ten\n"} {
		if _, _, err := readFleet(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is not an error", bad)
		}
	}
}
