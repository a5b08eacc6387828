package jinja

import "strings"

// lookupAdvice holds the alternatives to lookup plugins of Ansible that deployer lacks.
var lookupAdvice = map[string]string{
	"first_found": "include_vars takes a list of names and reads the first file that exists",
	"pipe":        "a task command with delegate_to: localhost and register",
	"url":         "a task http_check, or download",
	"vars":        "the variable by its name, or $env['NAME']",
	"dict":        "toPairs(NAME), or NAME | dict2items",
	"fileglob":    "name the files in a list, or copy a directory",
}

// LookupAdvice returns the alternative to a lookup plugin that deployer lacks; name may
// have a collection in front.
func LookupAdvice(name string) string {
	if advice, ok := lookupAdvice[lookupPlugin(name)]; ok {
		return advice
	}
	return "a task does it, with register and delegate_to: localhost"
}

// lookupPlugin returns the name of a lookup plugin without its collection.
func lookupPlugin(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }
