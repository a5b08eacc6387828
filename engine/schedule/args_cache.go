package schedule

import (
	"encoding/json"
	"reflect"
	"sync"

	"deployer/engine/lang"
	"deployer/engine/program"
)

// normalizer brings the variables of all hosts into the form that playbooks
// know. Parts that hosts share, such as the map of all hosts, are looked at
// once, not once a host: on a thousand hosts that is a million entries less.
type normalizer struct{ seen map[uintptr]normalized }

// normalized keeps what was given as well: as long as it lives, no other map
// can have its address.
type normalized struct {
	given  map[string]any
	result any
}

func (n *normalizer) normalize(base map[string]any) map[string]any {
	if n.seen == nil {
		n.seen = map[uintptr]normalized{}
	}
	out := make(map[string]any, len(base))
	for name, value := range base {
		m, isMap := value.(map[string]any)
		if !isMap {
			out[name] = lang.Normalize(value)
			continue
		}
		at := reflect.ValueOf(m).Pointer()
		if _, ok := n.seen[at]; !ok {
			n.seen[at] = normalized{m, lang.Normalize(m)}
		}
		out[name] = n.seen[at].result
	}
	return out
}

// preparedArgs is a module and its arguments that are the same on all hosts.
type preparedArgs struct {
	module string
	args   json.RawMessage
}

// argsCache keeps what was made of tasks that look at nothing of their host, such
// as a copy of a file: one host reads the file, and all share what it made. It is
// safe for concurrent use.
type argsCache struct{ tasks sync.Map } // *program.Task -> prepared

func (s *argsCache) of(t *program.Task) (preparedArgs, bool) {
	p, ok := s.tasks.Load(t)
	if !ok {
		return preparedArgs{}, false
	}
	return p.(preparedArgs), true
}

func (s *argsCache) keep(t *program.Task, p preparedArgs) { s.tasks.Store(t, p) }
