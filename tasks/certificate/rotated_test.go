package certificate

import (
	"os"
	"strings"
	"testing"
	"time"

	"deployer/tasks/tasktest"
)

const rotatedPath = "/var/lib/kubelet/pki/kubelet-client-current.pem"

// rotate writes the files of a kubelet that has renewed its certificate: a file with
// certificate and key, and a link to the file.
func rotate(t *testing.T, sys *tasktest.System, ca *authority, life time.Duration) {
	t.Helper()
	other := tasktest.New(t)
	w := wanted()
	ca.life = life
	other.Calls["certificate.sign"] = ca.sign(w)
	other.Write(t, w.CAPath, ca.pem(), 0o644)
	if life == 0 {
		ca.life = time.Second // an expired certificate is not installed
	}
	if _, _, err := tasktest.Run(t, other, module(w)); err != nil {
		t.Fatal(err)
	}
	if life == 0 {
		time.Sleep(1100 * time.Millisecond)
	}
	ca.life = 365 * 24 * time.Hour
	file := strings.Replace(rotatedPath, "current", "2026-11-23", 1)
	sys.Write(t, file, other.Read(t, w.CertPath)+other.Read(t, w.KeyPath), 0o600)
	_ = os.Remove(sys.Path(rotatedPath))
	if err := os.Symlink(file, sys.Path(rotatedPath)); err != nil {
		t.Fatal(err)
	}
}

func rotatedWant() Want {
	w := wanted()
	w.Rotated = rotatedPath
	return w
}

// TestRotatedCertificate: the program prefers its own file, so the module removes one
// that is no longer valid when it installs a new certificate.
func TestRotatedCertificate(t *testing.T) {
	t.Parallel()
	sys, ca := host(t)
	w := rotatedWant()
	w.RenewBefore = 0
	tasktest.Converge(t, sys, module(w))
	rotate(t, sys, ca, 100*24*time.Hour)
	if change := tasktest.Check(t, sys, module(w)); change.Needed {
		t.Errorf("a good one is to be changed: %q", tasktest.Actions(change))
	}
	before := sys.Read(t, w.CertPath)
	for name, life := range map[string]time.Duration{"expires on": 20 * 24 * time.Hour, "expired on": 0} {
		rotate(t, sys, ca, life)
		rows := tasktest.Check(t, sys, &Checks{Certificates: []Want{w}}).Output["certificates"].([]any)
		if len(rows) != 2 || !strings.Contains(rows[1].(map[string]any)["detail"].(string), name) {
			t.Errorf("%s: certificates %v", name, rows)
		}
		change := tasktest.Converge(t, sys, module(w))
		actions := tasktest.Actions(change)
		if len(actions) != 2 || !strings.Contains(actions[0], w.CertPath+": issue: of "+rotatedPath+": it "+name) || actions[1] != rotatedPath+": remove" {
			t.Errorf("%s: %q", name, actions)
		}
		if _, err := os.Lstat(sys.Path(rotatedPath)); !os.IsNotExist(err) {
			t.Errorf("%s: the file is still there: %v", name, err)
		}
		after := sys.Read(t, w.CertPath)
		if after == before {
			t.Errorf("%s: no new certificate", name)
		}
		before = after
	}
}

// TestIssuedBefore: certificates are renewed once, whatever lifetime they have left.
func TestIssuedBefore(t *testing.T) {
	t.Parallel()
	sys, ca := host(t)
	tasktest.Converge(t, sys, module(wanted()))
	renew := module(wanted())
	renew.IssuedBefore = time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	if change := tasktest.Check(t, sys, renew); !change.Needed {
		t.Error("an earlier certificate stays")
	}
	renew.IssuedBefore = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339) // the authority of the test backdates by a minute
	ca.calls = 0
	if change := tasktest.Check(t, sys, renew); change.Needed || ca.calls > 0 {
		t.Errorf("a later certificate is renewed: %q", tasktest.Actions(change))
	}
	renew.IssuedBefore = "yesterday"
	if _, _, err := tasktest.Run(t, sys, renew); err == nil || !strings.Contains(err.Error(), "issued_before: ") {
		t.Errorf("error %v", err)
	}
}

// TestShortLifetimeIsAccepted: certificates of an authority that ends soon are
// installed although they must be renewed soon.
func TestShortLifetimeIsAccepted(t *testing.T) {
	t.Parallel()
	sys, ca := host(t)
	ca.life = time.Hour
	if _, _, err := tasktest.Run(t, sys, module(wanted())); err != nil {
		t.Error(err)
	}
}

// TestAuthorityInRotation: hosts trust two authorities, and the first one signs. A
// certificate of the second one is replaced, and so is the one that the program prefers.
func TestAuthorityInRotation(t *testing.T) {
	t.Parallel()
	sys, former := host(t)
	w := rotatedWant()
	tasktest.Converge(t, sys, module(w))
	rotate(t, sys, former, 365*24*time.Hour)
	next := newAuthority(t)
	sys.Write(t, w.CAPath, former.pem()+next.pem(), 0o644)
	if change := tasktest.Check(t, sys, module(w)); change.Needed {
		t.Errorf("a certificate of the first authority is to be changed: %q", tasktest.Actions(change))
	}
	paths := tasktest.Check(t, sys, &Checks{Paths: []string{w.CAPath}}).Output["certificates"].([]any)
	if len(paths) != 2 || paths[0].(map[string]any)["fingerprint"] == paths[1].(map[string]any)["fingerprint"] {
		t.Errorf("the two authorities are not listed: %v", paths)
	}
	sys.Write(t, w.CAPath, next.pem()+former.pem(), 0o644)
	if _, _, err := tasktest.Run(t, sys, module(w)); err == nil || !strings.Contains(err.Error(), "was not put in place: it is not signed by") {
		t.Errorf("the second authority signs: %v", err)
	}
	sys.Calls["certificate.sign"] = next.sign(w)
	if actions := tasktest.Actions(tasktest.Converge(t, sys, module(w))); len(actions) != 2 || !strings.Contains(actions[0], "it is not signed by") || actions[1] != rotatedPath+": remove" {
		t.Errorf("%q", actions)
	}
}
