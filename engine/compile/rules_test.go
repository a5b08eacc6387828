package compile

import (
	"strings"
	"testing"
)

// TestNumbersThatAreModes: a number of a variable is the mode that it is, or an error that says
// what to write; digits in the task itself are octal, as for chmod.
func TestNumbersThatAreModes(t *testing.T) {
	for mode, want := range map[string]string{
		`"{{ m }}"`: "0640", "0640": "0640", "644": "644", `"0600"`: "0600", "493": "site.yaml:3:35: mode: want an octal mode",
	} {
		p, err := compileFiles(t, nil, "site.yaml", "- hosts: all\n  vars: {m: 0640}\n  tasks: [{file: {path: /x, mode: "+mode+"}}]\n")
		if strings.Contains(want, "site.yaml") {
			requireOneError(t, err, want)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := render(t, p.Tasks[0], nil).(*fileArgs).Mode; got != want {
			t.Errorf("mode: %s is %q, want %q", mode, got, want)
		}
	}
}

// TestAmbiguousModeOfAVariable: 640 without quotes is the mode 1200 for Ansible.
func TestAmbiguousModeOfAVariable(t *testing.T) {
	for _, m := range []string{"640", "400", "0777", "1.5"} {
		_, err := pathOf(t, nil, nil, "site.yaml", "- hosts: all\n  vars: {m: "+m+"}\n  tasks: [{file: {path: /x, mode: '{{ m }}'}}]\n")
		if err == nil || !strings.Contains(err.Error(), "site.yaml:3:35: template {{ m }}: ") || !strings.Contains(err.Error(), "as a text") {
			t.Errorf("m: %s gives %v", m, err)
		}
	}
}
