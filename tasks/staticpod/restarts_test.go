package staticpod

import (
	"errors"
	"strings"
	"testing"
	"time"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestRestarts(t *testing.T) {
	t.Parallel()
	const dir = "/var/log/pods/kube-system_api-proxy-m1_u1/nginx/"
	for name, tt := range map[string]struct {
		before, now []string
		many        bool
	}{
		"first start":                            {nil, []string{dir + "0.log"}, false},
		"two restarts":                           {nil, []string{dir + "1.log", dir + "2.log"}, false},
		"three restarts":                         {nil, []string{dir + "2.log", dir + "3.log"}, true},
		"container with the same restart number": {[]string{dir + "7.log"}, []string{dir + "7.log", dir + "8.log"}, false},
		"container that restarted again":         {[]string{dir + "7.log"}, []string{dir + "10.log"}, true},
		"file that is no log":                    {nil, []string{dir + "notes.log"}, false},
	} {
		if err := restartsOf(tt.now).since(restartsOf(tt.before)); (err != nil) != tt.many {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCrashLoopEndsTheWait checks that a pod whose container ends repeatedly fails before
// the time limit, with the log of the container that has ended: the log of the next one is
// empty when the kubelet has just created it.
func TestCrashLoopEndsTheWait(t *testing.T) {
	t.Parallel()
	sys, k := host(t)
	writeManifest(t, sys, "new")
	k.set(pod{"u1", "new", "STOPPED"})
	go func() {
		time.Sleep(300 * time.Millisecond)
		const logs = "/var/log/pods/kube-system_kube-apiserver-m1_u1/kube-apiserver/"
		sys.Write(t, logs+"2.log", "2026 stderr F bad flag\n", 0o644)
		sys.Write(t, logs+"3.log", "", 0o644)
	}()
	began := time.Now()
	_, _, err := tasktest.Run(t, sys, &Ready{Manifest: manifestPath, Timeout: 5 * time.Minute})
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok || !strings.Contains(failure.Message, "kube-apiserver has ended and was started again 3 times") || !strings.Contains(failure.Detail, "bad flag") {
		t.Errorf("failure %+v", failure)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("given up after %v", took)
	}
}
