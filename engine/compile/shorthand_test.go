package compile

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/lang"
)

func TestShortForm(t *testing.T) {
	tests := map[string]struct {
		task string
		want runArgs
	}{
		"a text":                         {"run: ls -l", runArgs{Line: "ls -l"}},
		"a template":                     {"run: 'ls {{ dir }}'", runArgs{Line: "ls /srv"}},
		"text of several lines":          {"run: |\n        one\n        {{ dir }}", runArgs{Line: "one\n/srv\n"}},
		"mapping":                        {"run: {line: ls, dir: /tmp}", runArgs{Line: "ls", Dir: "/tmp"}},
		"text that looks like key=value": {"run: dd if=/a dir=/b of=/c", runArgs{Line: "dd if=/a dir=/b of=/c"}},
		"a number is a text":             {"run: 42", runArgs{Line: "42"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := mustCompile(t, "site.yaml", "- hosts: all\n  vars: {dir: /srv}\n  tasks:\n    - "+tt.task+"\n")
			v := lang.NewVars(nil, nil)
			if err := v.PushScope(p.Tasks[0].Scopes, p.Tasks[0].Refs()); err != nil {
				t.Fatal(err)
			}
			got, err := p.Tasks[0].BuildArgs(v)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
