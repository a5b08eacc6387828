// Package vet finds what is wrong with a compiled program and the hosts that it is for
// together, before any host is contacted: variables that no host has ([UndefinedNames]),
// also in the template files that tasks render, and variables that only Ansible has
// ([AnsibleName], [AnsibleNamesInTexts]). Package compile calls it at the end and adds
// the errors to its own. Nothing here changes a program.
package vet
