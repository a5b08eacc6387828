package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
)

// packRecord returns a record with these lines, a chunk for each, as a host may write it. It
// replaces RUN by the id of the run.
func packRecord(t *testing.T, run string, lines ...string) []byte {
	t.Helper()
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithSingleSegment(true))
	if err != nil {
		t.Fatal(err)
	}
	out := []byte("{\"format\":1}\n")
	for _, line := range lines {
		frame := pack.EncodeAll([]byte(strings.ReplaceAll(line, "RUN", run)+"\n"), nil)
		out = binary.BigEndian.AppendUint32(out, uint32(len(frame)))
		out = binary.BigEndian.AppendUint32(append(out, frame...), uint32(len(frame)))
	}
	return out
}

// TestHostileRecords checks over the wire that the records of a hostile host, which are small
// and unpack to much, exhaust neither the memory nor the time of the controller, and that the
// run of an honest host is found and shown.
func TestHostileRecords(t *testing.T) {
	const header, start = `{"header":{"format":1,"run":"RUN","call":{"verb":"install"}}}`, `{"event":{"type":"step.start","host":"a","step":"%d"}}`
	many := func(open, element, end string, size int) string {
		return open + strings.Repeat(element+",", size/(len(element)+1)) + element + end
	}
	var nested []string
	const steps = 60_000
	for i := range steps {
		nested = append(nested, fmt.Sprintf(start, i))
	}
	for i := range steps {
		nested = append(nested, fmt.Sprintf(`{"event":{"type":"step.end","host":"a","step":"%d"}}`, steps-1-i))
	}
	end := `{"event":{"type":"run.end","report":{"run":"RUN","hosts":[`
	records := map[string][]string{
		"values of a result":      {header, many(`{"event":{"type":"step.end","result":{"status":"ok","output":{"a":[`, "{}", `]}}}}`, 15<<20)},
		"variables of the header": {many(`{"header":{"format":1,"run":"RUN","call":{"verb":"install","extra":{"x":[`, `{"":0}`, `]}}}}`, 15<<20)},
		"hosts of the report":     {header, many(end, "{}", `]}}}`, 15<<20)},
		"steps in reverse order":  {header, strings.Join(nested, "\n")},
		"below every limit":       {many(`{"header":{"format":1,"run":"RUN","call":{"verb":"install","extra":{"x":[`, `{"":0}`, `]}}}}`, 500<<10), many(end, `{"host":"a"}`, `]}}}`, 500<<10)},
	}
	s := newTestSite(t, 2, map[string]string{"site.yaml": "- hosts: all\n  tasks:\n    - {name: one, file: {path: /one, content: x}}\n"})
	s.deployer(exitOK, "run", "site.yaml")
	honest := s.runs()[0].Header.Run
	s.anotherMachine(nil)
	size, n := 0, 0
	for range 3 {
		for _, lines := range records {
			run := fmt.Sprintf("20991231-%06d.000", n)
			data := packRecord(t, run, lines...)
			s.write(s.recordPath(0, run), string(data))
			size, n = size+len(data), n+1
		}
	}
	for _, args := range [][]string{{"runs", "list", "-n", "100"}, {"runs", "show", honest}} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], append(args, "--from-hosts")...)
		cmd.Args[0] = "deployer" // see TestMain
		cmd.Env = append(os.Environ(), "GOMEMLIMIT="+memoryLimit, statusVariable+"=status")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		began := time.Now()
		err := cmd.Run()
		if took := time.Since(began); err != nil || took > 5*time.Minute {
			t.Errorf("%v: %v after %v\n%s", args, err, took, out.String())
		}
		requireTexts(t, out.String(), "deployer: records of n001: ")
		if !strings.Contains(out.String(), honest) {
			t.Errorf("%v: the honest run is missing:\n%s", args, out.String())
		}
		took := peakMemory(t, "status")
		t.Logf("%v: %d records of %d KiB took %v and %d MB", args, n, size>>10, time.Since(began).Round(time.Millisecond), took/1e6)
		if took > mostMemory {
			t.Errorf("%v: %d MB, want %d at most", args, took/1e6, mostMemory/1000_000)
		}
	}
}
