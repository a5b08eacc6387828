package nodedns

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"
)

// serve answers each name over UDP with a code and a number of records, on a loopback address. It ignores other
// names, and the first queries for slow.example.
func serve(t *testing.T, answers map[string]answer) (address string) {
	t.Helper()
	l, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		buffer := make([]byte, 512)
		seen := map[string]bool{}
		for {
			n, from, err := l.ReadFrom(buffer)
			if err != nil {
				return
			}
			var labels []string
			for at := 12; at < n && buffer[at] != 0; at += int(buffer[at]) + 1 {
				labels = append(labels, string(buffer[at+1:at+1+int(buffer[at])]))
			}
			name := strings.Join(labels, ".")
			again := seen[name]
			seen[name] = true
			if a, ok := answers[name]; ok && (again || name != "slow.example") {
				out := append([]byte{}, buffer[:n]...)
				out[2], out[3], out[7] = 0x81, 0x80|a.code, byte(a.records)
				_, _ = l.WriteTo(append([]byte{out[0] + 1}, out[1:]...), from) // of another question
				_, _ = l.WriteTo(out, from)
			}
		}
	}()
	return l.LocalAddr().String()
}

func TestAsk(t *testing.T) {
	t.Parallel()
	at := serve(t, map[string]answer{"a.example": {codeOK, 2}, "no.example": {codeNXDomain, 0}, "slow.example": {codeOK, 1}, strings.Repeat("x", 63) + ".example": {codeServFail, 0}})
	for name, want := range map[string]string{
		"a.example": "2 records", "a.example.": "2 records", "no.example": "NXDOMAIN", "slow.example": "1 records", strings.Repeat("x", 63) + ".example": "SERVFAIL",
	} {
		if got, err := ask(t.Context(), at, name); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v; want %s", name, got, err, want)
		}
	}
	late := errors.New("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, late)
	defer cancel()
	if _, err := ask(ctx, at, "unanswered.example"); !errors.Is(err, late) {
		t.Errorf("without an answer: %v", err)
	}
	if _, err := ask(t.Context(), "127.0.0.1:1", "a.example"); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("a refused query: %v", err)
	}
}

// TestCompare: a cache must answer as cluster DNS does, also when no upstream server can be reached.
func TestCompare(t *testing.T) {
	t.Parallel()
	const name = "kubernetes.default.svc.cluster.local"
	good := map[string]answer{name: {codeOK, 1}, outsideName: {codeNXDomain, 0}}
	noUpstream := map[string]answer{name: {codeOK, 1}, outsideName: {codeServFail, 0}}
	for title, tt := range map[string]struct {
		cache, cluster map[string]answer
		err            string
	}{
		"both work":                        {good, good, ""},
		"no upstream server":               {noUpstream, noUpstream, ""},
		"the cache reaches no cluster DNS": {map[string]answer{name: {codeServFail, 0}}, good, "answers " + name + " with SERVFAIL"},
		"no address":                       {map[string]answer{name: {codeOK, 0}}, good, "with 0 records"},
		"the cache asks others":            {noUpstream, good, "with SERVFAIL, cluster DNS with NXDOMAIN"},
		"cluster DNS is down":              {good, nil, "asking cluster DNS"},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			err := compare(ctx, serve(t, tt.cache), serve(t, tt.cluster), name)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%v, want %q", err, tt.err)
			}
		})
	}
}
