package dialect

import (
	"maps"
	"sync"
)

// filter is a filter of Ansible.
type filter struct {
	do   func(c *call) (any, error)
	most int // arguments beside the value; -1 for any number
	// piped marks a filter that only a | calls: the name is a function of templates,
	// too, with another meaning.
	piped bool
}

var (
	filtersOnce sync.Once
	filtersMade map[string]filter
)

// filters returns the filters of Ansible by name. The map is made once and must not be
// changed.
func filters() map[string]filter {
	filtersOnce.Do(func() { filtersMade = makeFilters() })
	return filtersMade
}

func makeFilters() map[string]filter {
	out := map[string]filter{}
	for _, part := range []map[string]filter{textFilters(), numberFilters(), listFilters(), mappingFilters(), dataFilters(), networkFilters()} {
		maps.Copy(out, part)
	}
	return out
}
