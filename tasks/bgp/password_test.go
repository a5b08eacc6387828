package bgp

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

// host returns a host whose controller has the password. The group is that of the
// test process, because it exists on every machine.
func host(t *testing.T, password string) (*tasktest.System, *Password) {
	t.Helper()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc/deployer")
	sys.Calls["bgp.password"] = func(json.RawMessage) (any, error) { return map[string]string{"password": password}, nil }
	return sys, &Password{Group: fmt.Sprint(os.Getgid())}
}

func TestPassword(t *testing.T) {
	t.Parallel()
	sys, p := host(t, "s3cret")
	change := tasktest.Converge(t, sys, p)
	if change.Output["replaced"] != false {
		t.Error("a file that was not there counts as replaced")
	}
	for _, e := range change.Effects {
		if !e.Secret || strings.Contains(fmt.Sprint(e), "s3cret") {
			t.Errorf("the plan shows %+v", e)
		}
	}
	content, err := os.ReadFile(sys.Path(DefaultPath))
	if err != nil || string(content) != "# Written by deployer.\npassword \"s3cret\";\n" {
		t.Errorf("%q, %v", content, err)
	}
	if info, err := os.Stat(sys.Path(DefaultPath)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	sys.Calls["bgp.password"] = func(json.RawMessage) (any, error) { return map[string]string{}, nil }
	if change := tasktest.Converge(t, sys, p); change.Output["replaced"] != true {
		t.Error("sessions are not told that the password is gone")
	}
	if content, err := os.ReadFile(sys.Path(DefaultPath)); err != nil || strings.Contains(string(content), "password \"") {
		t.Errorf("%q, %v", content, err)
	}
}

// TestPasswordIsQuoted: the content of the masters' file cannot end the quoted string of
// the configuration.
func TestPasswordIsQuoted(t *testing.T) {
	t.Parallel()
	for _, password := range []string{`x"; import all; #`, "a\nb", strings.Repeat("x", 81)} {
		sys, p := host(t, password)
		_, err := p.Check(t.Context(), sys)
		if err == nil || strings.Contains(err.Error(), password) {
			t.Errorf("%.10q: %v", password, err)
		}
	}
}
