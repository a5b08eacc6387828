package cis

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/security.md anew")

func sections(t *testing.T) []Section {
	t.Helper()
	out, err := Sections()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestListIsComplete: the list has every check of the benchmark once, as many in each
// section as kube-bench's cfg/cis-1.11 has.
func TestListIsComplete(t *testing.T) {
	got := map[string]int{}
	seen := map[string]bool{}
	for _, s := range sections(t) {
		number, _, _ := strings.Cut(s.Title, " ")
		for i, c := range s.Checks {
			got[number]++
			if want := fmt.Sprintf("%s.%d", number, i+1); c.ID != want || seen[c.ID] {
				t.Errorf("check %s stands where %s should", c.ID, want)
			}
			seen[c.ID] = true
			if !slices.Contains([]string{Met, NotMet, Operator}, c.Verdict) || c.Title == "" {
				t.Errorf("%s: verdict %q, title %q", c.ID, c.Verdict, c.Title)
			}
			if c.Why == "" && (c.Verdict != Met || c.Test == nil) {
				t.Errorf("%s is %s, without a reason or a test", c.ID, c.Verdict)
			}
			if c.Test != nil && c.On == "" && c.Test.Refused == "" || c.Test != nil && c.Verdict == Operator {
				t.Errorf("%s has a test and nothing that it looks at, or is the operator's", c.ID)
			}
		}
	}
	want := map[string]int{"1.1": 21, "1.2": 30, "1.3": 7, "1.4": 2, "2": 7, "3.1": 3, "3.2": 2, "4.1": 10, "4.2": 15, "4.3": 1,
		"5.1": 13, "5.2": 13, "5.3": 2, "5.4": 2, "5.5": 1, "5.6": 4}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks of each section (-want +got):\n%s", diff)
	}
}

func TestPageIsOfTheList(t *testing.T) {
	const file = "../../docs/security.md"
	got := Page(sections(t))
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test ./test/cis -update rewrites it):\n%s", file, diff)
	}
}

// TestScriptReadsAHost: a script reads files and their permissions on this machine,
// and Parse decodes its output.
func TestScriptReadsAHost(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "pki", "a.crt")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("kind: X\nlist: [a, b]\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	checks := []Check{{Test: &Test{File: filepath.Join(dir, "pki"), Below: "*.crt"}}, {Test: &Test{File: file, Key: "list"}}}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", Script(checks)).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	h, err := Parse(string(out))
	if err != nil {
		t.Fatal(err)
	}
	if h.Files[file].Mode != 0o640 || !strings.Contains(h.Files[file].Owner, ":") || h.Contents[file] != "kind: X\nlist: [a, b]\n" {
		t.Errorf("host: %+v", h)
	}
}

// TestEvaluate: each kind of test distinguishes a host that passes from one that does
// not.
func TestEvaluate(t *testing.T) {
	h := Host{
		Files:    map[string]Access{"/a": {0o600, "root:root"}, "/pki/x.key": {0o600, "root:root"}, "/pki/y.key": {0o640, "etcd:etcd"}},
		Contents: map[string]string{"/a": "kubelet: {port: 0, on: true, suites: [A, B], limit: 4096}\n", "/u": "[Service]\nUser=x\n"},
		Args:     map[string][]string{"kube-apiserver": {"--profiling=false", "--plugins=A,B", "--cert=x", "--empty="}},
		Refusals: map[string]string{"{}": `pods "c" is forbidden: violates PodSecurity "baseline:latest": hostPort (...)`, "ok": ""},
	}
	for _, c := range []struct {
		test Test
		pass bool
	}{
		{Test{File: "/a", Mode: "600"}, true},
		{Test{File: "/a", Mode: "400"}, false},
		{Test{File: "/a", Owner: "root:root"}, true},
		{Test{File: "/a", Owner: "etcd:etcd"}, false},
		{Test{File: "/none", Mode: "600"}, false},
		{Test{File: "/pki", Below: "x.*", Mode: "600"}, true},
		{Test{File: "/pki", Below: "*.key", Mode: "600"}, false},
		{Test{File: "/pki", Below: "*", Owner: "root:root"}, false},
		{Test{File: "/pki", Below: "*.crt", Mode: "644"}, false},
		{Test{File: "/a", Key: "kubelet.port", Is: "0"}, true},
		{Test{File: "/a", Key: "kubelet.on", Is: "false"}, false},
		{Test{File: "/a", Key: "kubelet.suites", Has: "B"}, true},
		{Test{File: "/a", Key: "kubelet.suites.0", Is: "A"}, true},
		{Test{File: "/a", Key: "kubelet.suites", Among: []string{"A", "B", "C"}}, true},
		{Test{File: "/a", Key: "kubelet.suites", Among: []string{"A"}}, false},
		{Test{File: "/a", Key: "kubelet.limit", Least: 1}, true},
		{Test{File: "/a", Key: "kubelet.limit", Least: 5000}, false},
		{Test{File: "/a", Key: "kubelet.none", Unset: true}, true},
		{Test{File: "/a", Key: "kubelet.none", Is: "0"}, false},
		{Test{File: "/none", Key: "kubelet.none", Unset: true}, false},
		{Test{File: "/u", Line: "User=x"}, true},
		{Test{File: "/u", Line: "User="}, false},
		{Test{Flag: "profiling", Of: "kube-apiserver", Is: "false"}, true},
		{Test{Flag: "profiling", Of: "kube-scheduler", Is: "false"}, false},
		{Test{Flag: "plugins", Of: "kube-apiserver", Has: "A"}, true},
		{Test{Flag: "plugins", Of: "kube-apiserver", Lacks: "A"}, false},
		{Test{Flag: "none", Of: "kube-apiserver", Lacks: "A"}, true},
		{Test{Flag: "none", Of: "kube-apiserver", Unset: true}, true},
		{Test{Flag: "none", Of: "kube-scheduler", Unset: true}, false},
		{Test{Flag: "cert", Of: "kube-apiserver", Unset: true}, false},
		{Test{Flag: "cert", Of: "kube-apiserver", And: "key"}, false},
		{Test{Flag: "empty", Of: "kube-apiserver"}, false},
		{Test{Refused: "{}", Has: "hostPort"}, true},
		{Test{Refused: "{}", Has: "hostPath"}, false},
		{Test{Refused: "ok"}, false},
		{Test{Refused: "never asked"}, false},
	} {
		met := Check{Verdict: Met, Test: &c.test}.Evaluate(h)
		notMet := Check{Verdict: NotMet, Test: &c.test}.Evaluate(h)
		if (met == nil) != c.pass || (notMet == nil) == c.pass {
			t.Errorf("%+v: met %v, not met %v; want pass %v", c.test, met, notMet, c.pass)
		}
	}
}
