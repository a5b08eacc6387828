package lang

// Closure returns the variables of parts and those that the variables of the scopes read in
// turn.
func Closure(scopes []*Scope, parts ...Refs) Refs {
	var out Refs
	out.Merge(parts...)
	todo := out.Names()
	for len(todo) > 0 {
		name := todo[0]
		todo = todo[1:]
		for _, s := range scopes {
			value := s.Vars[name]
			if value == nil {
				continue
			}
			out.all = out.all || value.refs.all
			for n := range value.refs.tested {
				out.test(n)
			}
			for _, r := range value.refs.Names() {
				if _, known := out.names[r]; !known {
					out.Add(r)
					todo = append(todo, r)
				}
			}
		}
	}
	return out
}
