module github.com/pinfold/pinfold

go 1.26
