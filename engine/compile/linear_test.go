package compile

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLinear(t *testing.T) {
	tests := map[string]struct{ play, want string }{
		"one barrier before each task": {`
- hosts: all
  strategy: linear
  barrier: true
  tasks:
    - {name: a, file: {path: /a}}
    - {name: b, file: {path: /b}, barrier: true}
    - meta: flush_handlers
    - block: [{name: c, file: {path: /c}}]
      rescue: [{name: d, file: {path: /d}}]
`, `play all
barrier
task 1.play.1 a
barrier
task 1.play.2 b
barrier
flush
block block
barrier
task 1.play.3 c
rescue
barrier
task 1.play.4 d
end
barrier
flush
play end
`},
		"a throttled block is one step": {`
- hosts: all
  strategy: linear
  tasks:
    - throttle: 1
      block:
        - {name: a, file: {path: /a}}
        - block: [{name: b, file: {path: /b}}]
    - {name: c, file: {path: /c}, throttle: 1}
`, `play all
barrier
block block
task 1.play.1 a
block block
task 1.play.2 b
end
end
barrier
task 1.play.3 c
barrier
flush
play end
`},
		"a batch begins with a barrier": {`
- hosts: all
  strategy: linear
  serial: 1
  tasks: [{name: a, file: {path: /a}}]
`, `play all
barrier
batch
barrier
task 1.play.1 a
barrier
flush
play end
`},
		"free is the default": {"- {hosts: all, strategy: free, tasks: [{name: a, file: {path: /a}}]}\n", "play all\ntask 1.play.1 a\nflush\nplay end\n"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, listing(mustCompile(t, "site.yaml", tt.play))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
