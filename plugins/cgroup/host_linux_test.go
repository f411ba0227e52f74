package cgroup

func host([]string) {}
