// Command compare compares deployer with ansible-core: inventories that `deployer
// inventory import` reads, and playbooks and roles that `deployer convert` translates.
// `make compare-ansible` installs ansible-core and runs it.
//
// A [Kind] is a directory of cases and two functions. One asks ansible-core, the other
// asks deployer; both return an [Answer], a flat mapping from a key, such as
// "web1 port", to a value. [Judge] compares the two key by key. A difference is listed
// when deployer's notes name it, and silent otherwise. A case is equal, listed or
// silent, and the last line counts the cases:
//
//	compare inventories=N equal=N conversions=N equal=N listed=N silent=0
//
// A case is a directory below the directory of its kind: its input, and ansible.json
// with ansible-core's answer. The program asks ansible-core again and fails when
// the file is no longer its answer; --update rewrites it. `go test ./test/compare`
// compares deployer with the files alone, so it needs no Ansible.
//
// To add a case, write its input and run `go run ./test/compare --update NAME`.
package main
