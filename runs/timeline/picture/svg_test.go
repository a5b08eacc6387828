package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/runs/timeline"
)

// run returns the timeline of a run in which each host has a change of a second after the
// one before it; the last host fails.
func run(hosts int) *timeline.Timeline {
	start := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	c := timeline.NewCollector(start)
	var names []string
	for i := range hosts {
		name := fmt.Sprintf("n%d", i+1)
		if i == 1 {
			name = "<b>&"
		}
		names = append(names, name)
		status := engine.StatusChanged
		if i == hosts-1 {
			status = engine.StatusFailed
		}
		at := start.Add(time.Duration(i) * time.Second)
		c.Add(engine.Event{Time: start, Host: name, Type: engine.EventHostUp})
		c.Add(engine.Event{Time: at, Host: name, Type: engine.EventStepStart, Step: "1.a", Name: "write <it>"})
		c.Add(engine.Event{Time: at.Add(time.Second), Host: name, Type: engine.EventStepEnd, Step: "1.a", Name: "write <it>",
			Result: &engine.Result{Status: status, Elapsed: time.Second}})
		for range 5 { // too short to be seen one by one
			c.Add(engine.Event{Time: at.Add(time.Second), Host: name, Type: engine.EventStepEnd, Step: "1.b", Name: "look",
				Result: &engine.Result{Status: engine.StatusOK, Elapsed: time.Millisecond}})
		}
	}
	c.Add(engine.Event{Time: start.Add(time.Duration(hosts) * time.Second), Type: engine.EventRunEnd})
	return c.Timeline(names)
}

func draw(t *testing.T, hosts int) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, "run <1>", run(hosts)); err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
}

func TestPictureShowsHostsWithTheirSteps(t *testing.T) {
	text := draw(t, 3)
	for _, want := range []string{
		"run &lt;1&gt;: 3 hosts, 2 steps, 3s", ">&lt;b&gt;&amp;</text>",
		`<rect class="changed" x="150.0" y="62" width="320.0" height="14"><title>n1: write &lt;it&gt; (changed)</title></rect>`,
		`<rect class="failed" x="790.0"`, ": 5 steps</title>", `<path class="path" fill="none" d="M`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the picture lacks %s:\n%s", want, text)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "<b>") {
		t.Error("the name of a host is markup")
	}
}

func TestPictureOfManyHostsHasThoseThatFailed(t *testing.T) {
	text := draw(t, 1000)
	if !strings.Contains(text, "1000 hosts, 2 steps, 16m40s; 60 of the hosts are shown") || !strings.Contains(text, ">n1000</text>") {
		t.Error("the failed host is not shown")
	}
	if lanes := strings.Count(text, `y="62"`); lanes == 0 || strings.Count(text, "<text x=") != maxLanes {
		t.Errorf("%d lanes", strings.Count(text, "<text x="))
	}
}

func TestPictureOfARunWithoutHosts(t *testing.T) {
	if text := draw(t, 0); !strings.Contains(text, "0 hosts, 0 steps") {
		t.Error(text)
	}
}

func TestHostsStayInTheOrderOfTheRun(t *testing.T) {
	timed := run(100)
	chosen := choose(timed.Hosts, nil)
	if !slices.IsSortedFunc(chosen, func(a, b *timeline.Host) int { return slices.Index(timed.Hosts, a) - slices.Index(timed.Hosts, b) }) {
		t.Error("another order")
	}
}
