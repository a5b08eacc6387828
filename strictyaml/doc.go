// Package strictyaml decodes YAML that people write by hand, and rejects likely mistakes.
//
// A key that the Go type does not have, a key given twice, a value of another
// type, a missing required key: each is an error with its place (file, line and column)
// and advice, and all errors of a document are reported together. Types are described
// by struct tags:
//
//	yaml:"name"       the key; ",inline" takes the keys of a nested struct or map
//	doc:"..."         one sentence for references and schemas
//	required:"true"   the key must be there and not be null
//	enum:"a,b"        the only values allowed, for strings
//	rule:"path"       the grammar of a string, or of the strings of a list or mapping; see argrule
//	keys:"filename"   the grammar of the keys of a mapping, likewise
//	range:"1..9"      the lowest and highest value of a number or a duration; either may be left out
//	default:"x"       the value of a missing key; for the reference, not applied
//	each:"host"       on a map: messages say "in host m1" instead of "in hosts.m1"
//
// time.Duration is written as "10s". Types with UnmarshalYAML or UnmarshalText
// decode themselves; their errors get the position. A yaml.Node field keeps the node
// undecoded.
//
// Parse resolves anchors and merge keys, so that the nodes it returns are a
// plain tree; a value that came in through an alias has the position of its
// anchor.
package strictyaml
