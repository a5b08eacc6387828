package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"deployer/tasks/control/report"
)

// serialLog is the log of two tests, one after the other, as ginkgo writes it with -v.
var serialLog = strings.ReplaceAll(`Running Suite: Kubernetes e2e suite - /usr/local/bin
Will run 3 of 7579 specs
------------------------------
[SynchronizedBeforeSuite] 
k8s.io/kubernetes@v1.36.3/test/e2e/e2e.go:69
[SynchronizedBeforeSuite] PASSED [0.271 seconds]
------------------------------
SSSSSSS
------------------------------
[sig-network] ServiceCIDR should support [LinuxOnly] [Conformance] [sig-network, Conformance]
k8s.io/kubernetes@v1.36.3/test/e2e/network/service_cidrs.go:166
  STEP: getting @ 11/28/26 00:31:46.606
  • [0.1 seconds]
• [0.113 seconds]
------------------------------
[sig-network] Ingress API should support ESC[31mcreating [Conformance] [sig-network, Conformance]
k8s.io/kubernetes@v1.36.3/test/e2e/network/ingress.go:57
  [FAILED] in [It] - k8s.io/kubernetes@v1.36.3/test/e2e/network/ingress.go:171
• [FAILED] [0.336 seconds]
[sig-network] Ingress API [It] should support ESC[31mcreating [Conformance] [sig-network, Conformance]
k8s.io/kubernetes@v1.36.3/test/e2e/network/ingress.go:57
`, "ESC", "\x1b")

func addLines(p *progress, text string) (failed []string) {
	for line := range strings.Lines(text) {
		if name := p.add(line); name != "" {
			failed = append(failed, name)
		}
	}
	return failed
}

// TestProgress reads the log of tests that run one after the other, and of parallel ones, which are named after
// their ends.
func TestProgress(t *testing.T) {
	t.Parallel()
	const broken = "[sig-network] Ingress API should support creating [Conformance]"
	var p progress
	if got := p.String(); got != "waiting for the tests to start" {
		t.Error(got)
	}
	head, rest, _ := strings.Cut(serialLog, "  STEP")
	addLines(&p, head)
	if got, want := p.String(), "0 of 3 tests: [sig-network] ServiceCIDR should support [LinuxOnly] [Conformance]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	failed := addLines(&p, "  STEP"+rest)
	if got, want := p.String(), "2 of 3 tests, 1 failed: "+broken; got != want || !cmp.Equal(failed, []string{broken}) {
		t.Errorf("%q, failed %q, want %q", got, failed, want)
	}
	p = progress{}
	failed = addLines(&p, "Will run 2 of 9 specs\n------------------------------\n• [1.2 seconds]\n[sig-network] a [Conformance] [sig-network, Conformance]\nx.go:1\n"+
		"------------------------------\n• [TIMEDOUT] [40.0 seconds]\n[sig-apps] b [It] c [sig-apps, Conformance]\n")
	if got, want := p.String(), "2 of 2 tests, 1 failed: [sig-apps] b c"; got != want || !cmp.Equal(failed, []string{"[sig-apps] b c"}) {
		t.Errorf("%q, failed %q, want %q", got, failed, want)
	}
}

// TestCopyOfLog: parts overlap, because the API rounds times; each line is copied once, and one without its
// end when it is complete.
func TestCopyOfLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l, err := openLog(dir)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	add := func(final bool, part string) {
		if err := l.add([]byte(part), final, func(line string) { seen = append(seen, line) }); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(l.query(), "sinceTime") {
		t.Error(l.query())
	}
	const a, b, c = "2026-11-28T00:00:01.1Z one\n", "2026-11-28T00:00:01.25Z \x1b[31mtwo\n", "2026-11-28T00:00:01.3Z three\n"
	add(false, a+b[:28])
	add(false, a+b+"no time\n")
	if got := l.query(); !strings.Contains(got, "sinceTime=2026-11-28T00%3A00%3A01Z") {
		t.Error(got)
	}
	add(false, a+b+c[:len(c)-1])
	add(true, a+b+c[:len(c)-1])
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, logFile))
	if diff := cmp.Diff([]string{"one\n", "two\n", "three"}, seen); diff != "" || err != nil || string(got) != strings.Join(seen, "") || l.last != "three" {
		t.Errorf("%s %q %v", diff, got, err)
	}
}

const junit = `<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="7586" disabled="7580" errors="0" failures="2" time="61.5">
  <testsuite name="Kubernetes e2e suite" tests="6">
    <properties><property name="SuiteSucceeded" value="false"></property></properties>
    <testcase name="[SynchronizedBeforeSuite]" classname="x" status="passed" time="0.1"><system-err></system-err></testcase>
    <testcase name="[It] [sig-network] DNS should provide DNS for services [Conformance]" classname="x" status="passed" time="12.5"></testcase>
    <testcase name="[It] [sig-network] Services should serve &lt;endpoints&gt; [Conformance]" classname="x" status="failed" time="49">
      <failure message="" type="failed">[FAILED] timed out waiting for the condition
In [It] at: k8s.io/kubernetes/test/e2e/network/service.go:1 @ 11/27/26 23:46:06
one
two</failure>
      <system-err>&gt; Enter [BeforeEach] long timeline</system-err>
    </testcase>
    <testcase name="[It] [sig-network] Proxy [Conformance]" classname="x" status="interrupted" time="-1"><error message="interrupted by user" type="interrupted"></error></testcase>
    <testcase name="[It] [sig-apps] Job" classname="x" status="skipped" time="0"><skipped message="skipped"></skipped></testcase>
    <testcase name="[ReportAfterSuite] JUnit" classname="x" status="passed" time="0"></testcase>
  </testsuite>
</testsuites>
`

func TestParseReport(t *testing.T) {
	t.Parallel()
	got, err := parseReport(strings.NewReader(junit))
	if err != nil {
		t.Fatal(err)
	}
	want := &Report{Skipped: 1, Tests: []Test{
		{Name: "[sig-network] DNS should provide DNS for services [Conformance]", Elapsed: 12500 * time.Millisecond},
		{Name: "[sig-network] Services should serve <endpoints> [Conformance]", Elapsed: 49 * time.Second,
			Failure: "timed out waiting for the condition; In [It] at: k8s.io/kubernetes/test/e2e/network/service.go:1 @ 11/27/26 23:46:06; one"},
		{Name: "[sig-network] Proxy [Conformance]", Failure: "interrupted by user"},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, text := range map[string]string{
		"empty": "", "cut": junit[:len(junit)-40], "JSON": `{"tests": 1}`, "another document": "<html></html>",
		"too deep": "<testsuites>" + strings.Repeat("<a>", 100),
	} {
		if _, err := parseReport(strings.NewReader(text)); !errors.Is(err, errReport) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWrittenReport: the short report is JUnit again, with the same tests and failures.
func TestWrittenReport(t *testing.T) {
	t.Parallel()
	in, err := parseReport(strings.NewReader(junit))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := in.Write(&out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{`tests="3" failures="2" time="61.500"`, `time="12.500"></testcase>`, "<failure>interrupted by user</failure>", "serve &lt;endpoints&gt;"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	passed, broken := Test{Name: "a"}, Test{Name: "b", Failure: "timed out"}
	for name, test := range map[string]struct {
		report  Report
		end     ending
		want    []string
		problem bool
	}{
		"all pass":         {Report{Tests: []Test{passed, passed}, Skipped: 7}, ending{planned: 2, elapsed: 90 * time.Second}, []string{"conformance tests: 2 passed in 1m30s, 7 were not selected"}, false},
		"one fails":        {Report{Tests: []Test{passed, broken}}, ending{code: 1, planned: 2}, []string{"b: timed out", "conformance tests: 1 of 2 failed in 0s"}, true},
		"some did not run": {Report{Tests: []Test{passed}}, ending{planned: 2}, []string{"conformance tests: only 1 of 2 ran, in 0s"}, true},
		"a bad end":        {Report{Tests: []Test{passed}}, ending{code: 137, planned: 1}, []string{"conformance tests: 1 passed, but the program of the tests ended with 137"}, true},
		"the suite fails":  {Report{Suite: []Test{{Name: "[SynchronizedBeforeSuite]", Failure: "nodes are not ready"}}}, ending{code: 1}, []string{"[SynchronizedBeforeSuite]: nodes are not ready", "conformance tests: 0 of 0 failed in 0s"}, true},
	} {
		rows, err := verdict(&test.report, test.end, Options{})
		var got []string
		for _, r := range rows {
			got = append(got, r.Check+": "+r.Detail)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil || (len(report.Problems(rows)) > 0) != test.problem {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	_, err := verdict(&Report{Skipped: 7000}, ending{}, Options{Focus: "typo", Skip: "x"})
	if !errors.Is(err, ErrNoTests) || !strings.Contains(err.Error(), `--focus "typo" without --skip "x"`) {
		t.Errorf("without tests: %v", err)
	}
}

func TestStateOfPod(t *testing.T) {
	t.Parallel()
	now := time.Now()
	status := func(name string, s corev1.ContainerState) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: name, State: s}}}
	}
	waiting := func(reason string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "m\x1b[0m"}}
	}
	ended := func(code int32, reason string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason}}
	}
	for name, test := range map[string]struct {
		pod  corev1.Pod
		want podState
	}{
		"new":               {corev1.Pod{}, podState{}},
		"running":           {corev1.Pod{Status: status("tests", corev1.ContainerState{Running: &corev1.ContainerStateRunning{}})}, podState{running: true}},
		"cannot pull":       {corev1.Pod{Status: status("tests", waiting("ImagePullBackOff"))}, podState{pull: true, waiting: "ImagePullBackOff m"}},
		"no probe image":    {corev1.Pod{Status: status("results", waiting("ErrImageNeverPull"))}, podState{waiting: "ErrImageNeverPull m", fault: "its container results cannot start: ErrImageNeverPull m"}},
		"failed tests":      {corev1.Pod{Status: status("tests", ended(1, "Error"))}, podState{ended: true, code: 1}},
		"out of memory":     {corev1.Pod{Status: status("tests", ended(137, "OOMKilled"))}, podState{ended: true, code: 137, fault: "the tests ended: OOMKilled "}},
		"results are lost":  {corev1.Pod{Status: status("results", ended(2, "Error"))}, podState{fault: "its container results ended with 2"}},
		"evicted":           {corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "disk"}}, podState{fault: "it ended without its tests: Evicted disk"}},
		"deleted by others": {corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: now.Add(-time.Second)}}}, podState{fault: "another program deletes it"}},
	} {
		test.want.fault = strings.TrimRight(test.want.fault, " ")
		got := stateOf(&test.pod, now)
		got.fault = strings.TrimRight(got.fault, " ")
		if got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestCommand(t *testing.T) {
	t.Parallel()
	got := Options{Focus: "a b", Timeout: time.Hour, Parallel: 4}.command()
	want := []string{"/usr/local/bin/ginkgo", "-v", "--no-color", "--timeout=1h0m0s", "--focus=a b", "--skip=", "--procs=4", "/usr/local/bin/e2e.test", "--", "--disable-log-dump"}
	if diff := cmp.Diff(want, got[:len(want)]); diff != "" {
		t.Error(diff)
	}
}

// FuzzReport: no report stops the program, and what comes out is bounded and clean.
func FuzzReport(f *testing.F) {
	f.Add(junit)
	f.Add("<testsuite><testcase name='[It] a'><failure>\x9b</failure></testcase></testsuite>")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseReport(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, test := range append(r.Tests, r.Suite...) {
			requireClean(t, test.Name, maxName)
			requireClean(t, test.Failure, maxCause)
		}
		if err := r.Write(&bytes.Buffer{}); err != nil {
			t.Error(err)
		}
	})
}

// FuzzLog: no log stops the program, and names of tests and the copy are bounded and clean.
func FuzzLog(f *testing.F) {
	f.Add([]byte("2026-11-28T00:00:01.1Z Will run 2 of 9 specs\n2026-11-28T00:00:02Z ------------------------------\n2026-11-28T00:00:03Z [sig-a] b\x1b[2J\n2026-11-28T00:00:04Z • [FAILED] [1 seconds]\n2026-11-28T00:00:05Z [sig-a] b"), true)
	f.Add([]byte(serialLog), false)
	f.Fuzz(func(t *testing.T, part []byte, final bool) {
		l, err := openLog(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		var p progress
		if err := l.add(part, final, func(line string) { requireClean(t, p.add(line), maxName) }); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(string(part)) {
			requireClean(t, p.add(line), maxName)
		}
		requireClean(t, p.String(), maxName+100)
		if p.total < 0 || p.total > maxTests || l.written > int64(3*len(part)) {
			t.Errorf("%+v, %d bytes of %d", p, l.written, len(part))
		}
		if err := l.close(); err != nil {
			t.Error(err)
		}
	})
}

func requireClean(t *testing.T, text string, limit int) {
	t.Helper()
	if len(text) > limit+len("…")+60 || strings.ContainsAny(text, "\n\r\t\x1b") {
		t.Errorf("%d bytes: %s", len(text), fmt.Sprintf("%q", text))
	}
}
