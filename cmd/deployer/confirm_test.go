package main

import (
	"strings"
	"testing"

	"deployer/engine/schedule"
)

func TestConfirm(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	ask := confirmTask(strings.NewReader("what?\n Yes \nn\nc\n"), &out)
	for i, want := range []schedule.Answer{schedule.Yes, schedule.No, schedule.YesToAll, schedule.No} {
		if got := ask(t.Context(), "reload", []string{"n1", "n2", "n3"}); got != want {
			t.Errorf("answer %d is %d, want %d", i, got, want)
		}
	}
	if n := strings.Count(out.String(), `"reload" on n[1:3]? [y]es`); n != 5 {
		t.Errorf("asked %d times, want 5: %s", n, out.String())
	}
}
