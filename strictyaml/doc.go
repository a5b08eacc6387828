// Package strictyaml reads YAML that people write by hand, and refuses what
// they did not mean.
//
// A key that the Go type does not have, a key given twice, a value of another
// type, a missing required key: each is an error that says where it is (file,
// line and column) and what to do, and all errors of a document are reported
// together. Types are described by struct tags:
//
//	yaml:"name"       the key; ",inline" takes the keys of a nested struct or map
//	doc:"..."         one sentence for references and schemas
//	required:"true"   the key must be there and not be null
//	enum:"a,b"        the only values allowed, for strings
//	default:"x"       what is used when the key is missing; shown, not applied
//	each:"host"       on a map: messages say "in host m1" instead of "in hosts.m1"
//
// time.Duration is written as "10s". Types with UnmarshalYAML or UnmarshalText
// decode themselves; their errors are given the position. A yaml.Node field is
// kept as it is, to be decoded later by whoever knows its type.
//
// Parse resolves anchors and merge keys, so that the nodes it returns are a
// plain tree; a value that came in through an alias has the position of its
// anchor.
package strictyaml
