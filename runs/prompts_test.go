package runs

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine/journal"
	"deployer/runs/target"
)

// fakePrompts provides prompters with fixed answers by question.
type fakePrompts struct {
	answers map[string][]string
	asked   []string
}

func (a *fakePrompts) prompter(kind string) target.Prompter {
	return func(question string) (string, error) {
		a.asked = append(a.asked, kind+" "+question)
		left := a.answers[question]
		if len(left) == 0 {
			return "", errors.New("asked once too often")
		}
		a.answers[question] = left[1:]
		return left[0], nil
	}
}

// TestPromptVars checks questions, confirmation, defaults and types of vars_prompt, and
// that private answers are not recorded.
func TestPromptVars(t *testing.T) {
	tests := map[string]struct {
		prompts string
		given   map[string]any
		says    map[string][]string
		want    map[string]any
		asked   []string
	}{
		"private":                      {"{name: pin}", nil, map[string][]string{"pin: ": {"0042"}}, map[string]any{"pin": "0042"}, []string{"hidden pin: "}},
		"visible prompt for a number":  {"{name: n, private: false}", nil, map[string][]string{"n: ": {"42"}}, map[string]any{"n": 42}, []string{"open n: "}},
		"visible prompt for a boolean": {"{name: n, private: false}", nil, map[string][]string{"n: ": {"true"}}, map[string]any{"n": true}, []string{"open n: "}},
		"a default":                    {"{name: v, prompt: which, default: '1.10', private: false}", nil, map[string][]string{"which [1.10]: ": {""}}, map[string]any{"v": "1.10"}, []string{"open which [1.10]: "}},
		"a hidden default":             {"{name: v, default: x}", nil, map[string][]string{"v: ": {""}}, map[string]any{"v": "x"}, []string{"hidden v: "}},
		"given by --extra-vars":        {"{name: v}", map[string]any{"v": "x"}, nil, map[string]any{"v": "x"}, nil},
		"confirmed": {"{name: v, confirm: true}", nil, map[string][]string{"v: ": {"a"}, "v, again: ": {"b"}, "the answers differ; v: ": {"c"}, "the answers differ; v, again: ": {"c"}},
			map[string]any{"v": "c"}, []string{"hidden v: ", "hidden v, again: ", "hidden the answers differ; v: ", "hidden the answers differ; v, again: "}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			writeSite(t)
			writePromptPlaybook(t, tt.prompts)
			a := &fakePrompts{answers: tt.says}
			c := Runner{PromptSecret: a.prompter("hidden"), PromptVisible: a.prompter("open")}
			r, err := c.Playbook(Options{Invocation: journal.Invocation{Inventory: "i.yaml", Playbook: "site.yaml", Extra: tt.given}})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer r.connector.Close()
			if diff := cmp.Diff(tt.want, r.Extra); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.asked, a.asked); diff != "" {
				t.Error(diff)
			}
			written, err := json.Marshal(r.RecordedInvocation())
			for name, value := range tt.want {
				text, private := value.(string)
				private = private && !strings.Contains(tt.prompts, "private: false")
				if err != nil || private && (strings.Contains(string(written), `"`+text+`"`) || !strings.Contains(string(written), `"withheld":["`+name+`"]`)) {
					t.Errorf("written: %s, %v", written, err)
				}
			}
			if missing := r.missingVars([]string{"pin", "v", "n", "other"}); len(missing) == 0 || missing[len(missing)-1] != "other" {
				t.Errorf("to be given: %v", missing)
			}
		})
	}
}

func writePromptPlaybook(t *testing.T, prompts string) {
	t.Helper()
	text := "- {hosts: all, vars_prompt: [" + prompts + "], tasks: [{debug: {msg: x}}]}\n"
	if err := os.WriteFile("site.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestPromptVarsWithoutTerminal checks that a default is used without a terminal, and
// that a variable without a default is an error with the flag that sets it.
func TestPromptVarsWithoutTerminal(t *testing.T) {
	nobody := func(string) (string, error) {
		return "", &target.NotInteractiveError{Why: "standard input is not a terminal"}
	}
	for prompts, want := range map[string]string{
		"{name: pin}":             "site.yaml:1:37: prompting for pin: standard input is not a terminal; set it with -e pin=VALUE",
		"{name: v, default: '1'}": "",
	} {
		writeSite(t)
		writePromptPlaybook(t, prompts)
		r, err := Runner{PromptSecret: nobody}.Playbook(Options{Invocation: journal.Invocation{Inventory: "i.yaml", Playbook: "site.yaml"}})
		if err != nil {
			t.Fatal(err)
		}
		err = r.Prepare(t.Context())
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: error %v, want %s", prompts, err, want)
		}
		if r.connector != nil {
			r.connector.Close()
		}
	}
}
