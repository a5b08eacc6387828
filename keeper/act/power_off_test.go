package act

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPowerOffExample: the example succeeds only when the management controller says that the machine is off.
func TestPowerOffExample(t *testing.T) {
	script, err := filepath.Abs("../../examples/keeper/power-off.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		node, power string // what the controller says at first
		switches    string // what "power off" does: off, nothing or fails
		want        string // in the output
		fails       bool
	}{
		"on":                   {"n3", "on", "off", "the machine of n3 is off", false},
		"off before":           {"n3", "off", "fails", "was off", false},
		"it stays on":          {"n3", "on", "nothing", "is still on", true},
		"refused":              {"n3", "on", "fails", "controller 10.9.0.3 of n3 refuses", true},
		"another node":         {"n4", "on", "off", "has not one line for node n4", true},
		"two lines":            {"n5", "on", "off", "has not one line for node n5", true},
		"a name with a regexp": {"n.", "on", "off", "has not one line for node n.", true},
	} {
		dir := t.TempDir()
		for file, text := range map[string]string{
			"controllers": "n3 10.9.0.3\nn33 10.9.0.33\nn5 10.9.0.5\nn5 10.9.0.6\n",
			"power":       c.power,
			"ipmitool": `#!/bin/sh
case "$*" in
"-I lanplus -H 10.9.0.3 -U deployer -f ` + dir + `/password chassis power status") echo "Chassis Power is $(cat ` + dir + `/power)" ;;
"-I lanplus -H 10.9.0.3 -U deployer -f ` + dir + `/password chassis power off")
	case ` + c.switches + ` in off) printf off > ` + dir + `/power ;; fails) exit 1 ;; esac ;;
*) echo "ipmitool $*"; exit 2 ;;
esac
`,
		} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(script)
		cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "DEPLOYER_NODE=" + c.node, "CONTROLLERS=" + dir + "/controllers", "PASSWORD_FILE=" + dir + "/password", "SECONDS_TO_WAIT=1"}
		out, err := cmd.CombinedOutput()
		if (err != nil) != c.fails || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
}
