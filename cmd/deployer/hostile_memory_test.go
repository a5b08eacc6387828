package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/protocol"
	"deployer/engine/protocol/codec"
	"deployer/test/fleet"
)

// mostMemory is the maximum memory that deployer may use, and memoryLimit the limit
// that it is given, in bytes: without any host it uses some 100 MB, of which the libraries of
// add-ons, Helm and kustomize, take about 25 at their start. The race detector
// keeps a record of its own of each access (go.dev/doc/articles/race_detector: 5 to
// 10 times the memory), which does not count towards the limit.
const (
	mostMemory  = 280 << 20 * raceFactor
	memoryLimit = "128MiB"
)

// TestHostileMemory checks that a hostile host cannot exhaust the controller's memory,
// whatever it sends and however well it compresses, and that the other hosts complete.
func TestHostileMemory(t *testing.T) {
	fill := func(open, element, end string, size int) []byte {
		return []byte(open + strings.Repeat(element+",", size/(len(element)+1)) + element + end)
	}
	result := func(seg engine.Segment, output []byte) protocol.Frame {
		payload, err := codec.AppendResult(nil, &engine.Result{Step: seg.Steps[0].ID, Status: engine.StatusOK})
		if err != nil {
			panic(err)
		}
		// The payload ends with the output as a text; no output is one zero byte.
		payload = payload[:len(payload)-1]
		for n := len(output); ; n >>= 7 {
			if n < 0x80 {
				payload = append(payload, byte(n))
				break
			}
			payload = append(payload, byte(n)|0x80)
		}
		return protocol.Frame{Type: protocol.Result, ID: 1, Payload: append(payload, output...)}
	}
	for name, send := range map[string]func(id uint32, seg engine.Segment) []any{
		"empty objects": func(id uint32, seg engine.Segment) []any {
			f := result(seg, fill(`{"a":[`, "{}", "]}", 60<<20))
			f.ID = id
			return []any{f}
		},
		"objects in the largest message": func(id uint32, seg engine.Segment) []any {
			f := result(seg, fill(`{"a":[`, `{"":0}`, "]}", 15<<20))
			f.ID = id
			return []any{f}
		},
		"an unrequested journal": func(uint32, engine.Segment) []any {
			return []any{protocol.Frame{Type: protocol.JournalPage, ID: 9, Payload: fill(`{"entries":[`, `{}`, "]}", 60<<20)}}
		},
		"unfinished messages": func(uint32, engine.Segment) []any {
			var parts []byte
			for i := range uint32(60) {
				parts = protocol.AppendFrame(parts, protocol.JournalPage, i, make([]byte, protocol.MaxFrame), true)
			}
			return []any{parts, parts, parts, parts}
		},
		"calls with large arguments": func(uint32, engine.Segment) []any {
			var all []any
			ask := fill(`{"method":"certificate.sign","in":[`, "{}", "]}", 4<<20)
			for i := range uint32(64) {
				all = append(all, protocol.Frame{Type: protocol.Call, ID: i, Payload: ask})
			}
			return all
		},
	} {
		t.Run(name, func(t *testing.T) {
			evil := func(h *fleet.Host) func(*protocol.Conn, io.Writer) {
				if h.Name != "n002" {
					return nil
				}
				return func(conn *protocol.Conn, raw io.Writer) {
					f, ok := fleet.Await(conn, protocol.Segment)
					if !ok {
						return
					}
					seg, err := codec.ReadSegment(f.Payload)
					if err != nil {
						t.Error(err)
						return
					}
					for _, part := range send(f.ID, seg) {
						if _, err := raw.Write(agenttest.Script(part)); err != nil {
							return
						}
					}
					_, _ = fleet.Await(conn) // until the controller ends the connection
				}
			}
			s := newTestSiteWith(t, 2, fleet.Options{Exec: fleet.Hostile(evil)}, map[string]string{"site.yaml": `
- hosts: all
  max_fail: {all: 100%}
  tasks:
    - file: {path: /motd, content: "new\n"}
      register: it
    - file: {path: /other, content: "{{ it.changed }}\n"}
`})
			cmd := exec.CommandContext(t.Context(), os.Args[0], "run", "site.yaml")
			cmd.Args[0] = "deployer" // see TestMain
			cmd.Env = append(os.Environ(), "GOMEMLIMIT="+memoryLimit, statusVariable+"=status")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != exitPartial {
				t.Errorf("exit code %d, want %d\n%s", code, exitPartial, out.String())
			}
			requireTexts(t, out.String(), "n002: run: protocol: ")
			if got := s.hostFile(0, "other"); got != "true\n" {
				t.Errorf("the honest host has %q", got)
			}
			if took := peakMemory(t, "status"); took > mostMemory {
				t.Errorf("deployer took %d MB, want %d at most", took/1e6, mostMemory/1000_000)
			} else {
				t.Logf("deployer took %d MB", took/1e6)
			}
		})
	}
}

// peakMemory returns the peak memory of a process in bytes, from its /proc/PID/status.
func peakMemory(t *testing.T, status string) int {
	t.Helper()
	data, err := os.ReadFile(status)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var kB int
		if n, _ := fmt.Sscanf(line, "VmHWM: %d kB", &kB); n == 1 {
			return kB << 10
		}
	}
	t.Fatalf("no VmHWM in %s", data)
	return 0
}
