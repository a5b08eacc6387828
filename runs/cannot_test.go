package runs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCannotIsFolded: a thousand hosts with the same are one line, also when the
// name of the host is in it.
func TestCannotIsFolded(t *testing.T) {
	list := &cannots{}
	for _, h := range []string{"n1", "n2", "n3"} {
		list.add(h, "logs (/tmp/"+h+"/var/log)", false)
		list.add(h, "migrate", h == "n2")
	}
	list.add("n12", "logs (/tmp/n1/var/log)", false)
	want := []Cannot{
		{What: "logs (/tmp/HOST/var/log)", Hosts: []string{"n1", "n2", "n3"}},
		{What: "migrate", Hosts: []string{"n1", "n2", "n3"}, lasting: true},
		{What: "logs (/tmp/n1/var/log)", Hosts: []string{"n12"}},
	}
	if diff := cmp.Diff(want, list.all, cmp.AllowUnexported(Cannot{})); diff != "" {
		t.Error(diff)
	}
}
