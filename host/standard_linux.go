package host

func standardBackends() (confiner, tracker string) { return "landlock", "cgroup" }
