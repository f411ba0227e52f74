package host

func standardBackends() (confiner, tracker string) { return "seatbelt", "fingerprint" }
