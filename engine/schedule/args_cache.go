package schedule

import (
	"encoding/json"
	"reflect"
	"sync"

	"deployer/engine/program"
	"deployer/jsontypes"
)

// normalizer converts the variables of all hosts to the types of playbooks. normalizer converts
// parts that hosts share, such as the map of all hosts, once: for a thousand hosts that
// saves a million conversions.
type normalizer struct{ seen map[uintptr]normalized }

// normalized keeps the original map too, so that no other map can get its address.
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
			out[name] = jsontypes.Normalize(value)
			continue
		}
		at := reflect.ValueOf(m).Pointer()
		if _, ok := n.seen[at]; !ok {
			n.seen[at] = normalized{m, jsontypes.Normalize(m)}
		}
		out[name] = n.seen[at].result
	}
	return out
}

// preparedArgs is a module with arguments that are the same on all hosts.
type preparedArgs struct {
	module string
	args   json.RawMessage
}

// argsCache holds the prepared arguments of tasks that read nothing of their host, such as
// a copy of a file: one host prepares them for all. argsCache is safe for concurrent use.
type argsCache struct{ tasks sync.Map } // *program.Task -> preparedArgs

func (s *argsCache) of(t *program.Task) (preparedArgs, bool) {
	p, ok := s.tasks.Load(t)
	if !ok {
		return preparedArgs{}, false
	}
	return p.(preparedArgs), true
}

func (s *argsCache) keep(t *program.Task, p preparedArgs) { s.tasks.Store(t, p) }
