package keeperactions

import (
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

// TestRead: the newest actions of both files, the newest last; a host without files has none.
func TestRead(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	read := func(number int) string {
		change, err := (&Read{Number: number}).Check(t.Context(), sys)
		if err != nil || change.Needed {
			t.Fatalf("%+v, %v", change, err)
		}
		var objects []string
		for _, one := range change.Output["keeper_actions"].([]any) {
			objects = append(objects, one.(map[string]any)["object"].(string))
		}
		return strings.Join(objects, " ")
	}
	if got := read(0); got != "" {
		t.Errorf("a host without a keeper has %q", got)
	}
	line := func(at, object string) string {
		return `{"time":"2026-11-28T` + at + `Z","action":"Scale","object":"` + object + `","why":"w","result":"done"}` + "\n"
	}
	sys.Write(t, "/var/lib/deployer/keeper-actions.jsonl.1", line("03:00:00", "a")+line("03:01:00", "b"), 0o600)
	sys.Write(t, "/var/lib/deployer/keeper-actions.jsonl", line("03:02:00", "c")+`{"time":"2026-11`, 0o600)
	for number, want := range map[int]string{0: "a b c", 1: "c", 2: "b c", 200: "a b c"} {
		if got := read(number); got != want {
			t.Errorf("number %d: %q, want %q", number, got, want)
		}
	}
}
